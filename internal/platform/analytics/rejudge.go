package analytics

import "context"

// Series is the judgements of a crawl's stored pages by a version of a critic for a focus (forager rejudge).
type Series struct{ Crawl, Critic, Focus string }

func (s *Series) params() Params {
	return Params{"crawl": s.Crawl, "critic": s.Critic, "focus": s.Focus}
}

const (
	// storedPages are the delivered pages of a crawl whose bytes are stored.
	storedPages = `fetches_rows FINAL WHERE crawl = {crawl:String} AND object != ''
		AND id IN (SELECT id FROM verdicts_rows FINAL WHERE crawl = {crawl:String} AND outcome = 'delivered')`
	inSeries = `id IN (SELECT request FROM rejudgements_rows WHERE crawl = {crawl:String} AND critic = {critic:String} AND focus = {focus:String})`
)

// Judged returns the number of the stored pages of a series' crawl, and how many of them the series has.
func (d *DB) Judged(ctx context.Context, s Series) (judged, stored uint64, err error) {
	type count struct{ Judged, Stored uint64 }
	n, err := single[count](ctx, d, "SELECT countIf("+inSeries+"), count() FROM "+storedPages, s.params())
	return n.Judged, n.Stored, err
}

// FetchedPage is a stored page as page.fetched describes it.
type FetchedPage struct {
	// ID of its request, in hexadecimal digits.
	ID, URL, ContentType, Digest string
	Object                       string
	Offset, Length               uint64
}

// Unjudged returns stored pages that a series lacks: those that follow an id ("" = all), in the order of their ids, at most so many.
// Ids are hashes, so the first pages are a random sample.
func (d *DB) Unjudged(ctx context.Context, s Series, after string, most int) ([]FetchedPage, error) {
	params := s.params()
	params["after"], params["most"] = after, uint64(most)
	return collect[FetchedPage](ctx, d, `SELECT lower(hex(fetches_rows.id)), url, content_type, digest, object, object_offset, object_length
		FROM `+storedPages+` AND NOT `+inSeries+` AND fetches_rows.id > toFixedString(unhex({after:String}), 16)
		ORDER BY fetches_rows.id LIMIT {most:UInt64}`, params)
}

// Rejudged compares a series with the crawl's own judgements, over the pages that the series has. A page with R of at least one half
// is on topic.
type Rejudged struct {
	Critic string `json:"critic"`
	Focus  string `json:"focus" doc:"Topics for which it judged."`
	Pages  uint64 `json:"pages"`
	// Harvest is the mean R of the series, Own that of the crawl's judgements.
	Harvest float64 `json:"harvest" doc:"Mean R."`
	Own     float64 `json:"own_harvest" doc:"Mean R of the same pages by the judgements that the crawl followed."`
	// OnTopic and OwnOnTopic are shares of the pages, Agreement the share that both or neither take to be on topic.
	OnTopic    float64         `json:"on_topic" doc:"Share of the pages with R of at least one half."`
	OwnOnTopic float64         `json:"own_on_topic"`
	Agreement  float64         `json:"agreement" doc:"Share of the pages that both or neither take to be on topic."`
	Curve      []RejudgedPoint `json:"curve"`
}

// RejudgedPoint is a series after a number of the crawl's pages.
type RejudgedPoint struct {
	Pages   uint64  `json:"pages" doc:"Delivered pages of the crawl, in its order, judged again or not."`
	Harvest float64 `json:"harvest" doc:"Mean R of those of them that were judged again."`
	Own     float64 `json:"own_harvest"`
}

// rejudgedPoints is the number of points of a curve.
const rejudgedPoints = 20

// Rejudged compares the series of a crawl with its own judgements; the order is that of critics and focuses.
func (r Report) Rejudged(ctx context.Context) (all []Rejudged, err error) {
	type part struct {
		Critic, Focus                  string
		Part, Last, Pages              uint64
		Relevance, Own                 float64
		OnTopic, OwnOnTopic, Agreement uint64
	}
	// Without a series no verdict is read.
	err = each(ctx, r.db, `WITH (SELECT count() > 0 FROM rejudgements_rows WHERE crawl = {crawl:String}) AS any_series,
			(SELECT max(shard) FROM verdicts_rows WHERE crawl = {crawl:String} AND any_series) AS last_shard,
			(SELECT count() FROM verdicts_rows FINAL WHERE crawl = {crawl:String} AND outcome = 'delivered' AND any_series) AS total,
			r.relevance >= 0.5 AS on_topic, v.relevance >= 0.5 AS own_on_topic
		SELECT critic, focus, toUInt64(intDiv((n - 1) * {points:UInt64}, greatest(total, 1))) AS part, max(n), count(), sum(r.relevance), sum(v.relevance),
			countIf(on_topic), countIf(own_on_topic), countIf(on_topic = own_on_topic)
		FROM (SELECT critic, focus, request, relevance FROM rejudgements_rows FINAL WHERE crawl = {crawl:String}) AS r INNER JOIN
		(
			SELECT id, relevance, row_number() OVER (ORDER BY if(last_shard = 0, 0, toUnixTimestamp64Milli(recorded_at)), shard, precedence DESC) AS n
			FROM verdicts_rows FINAL WHERE crawl = {crawl:String} AND outcome = 'delivered' AND any_series
		) AS v ON v.id = r.request
		GROUP BY critic, focus, part ORDER BY critic, focus, part`,
		Params{"crawl": r.crawl, "points": uint64(rejudgedPoints)}, func(p part) error {
			if n := len(all); n == 0 || all[n-1].Critic != p.Critic || all[n-1].Focus != p.Focus {
				all = append(all, Rejudged{Critic: p.Critic, Focus: p.Focus})
			}
			x := &all[len(all)-1]
			// Sums so far, until there are no more parts.
			x.Pages += p.Pages
			x.Harvest += p.Relevance
			x.Own += p.Own
			x.OnTopic += float64(p.OnTopic)
			x.OwnOnTopic += float64(p.OwnOnTopic)
			x.Agreement += float64(p.Agreement)
			x.Curve = append(x.Curve, RejudgedPoint{p.Last, x.Harvest / float64(x.Pages), x.Own / float64(x.Pages)})
			return nil
		})
	for i := range all {
		x := &all[i]
		for _, sum := range []*float64{&x.Harvest, &x.Own, &x.OnTopic, &x.OwnOnTopic, &x.Agreement} {
			*sum /= float64(x.Pages)
		}
	}
	return all, err
}
