package operate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/analytics"
	"forager/internal/stream"
	"forager/internal/web/scope"
	"forager/schemas"
)

// Letter is a dead letter, for display.
type Letter struct {
	// Number is its offset in dead.letter.
	Number  int64     `json:"number"`
	At      time.Time `json:"at"`
	Stage   string    `json:"stage"`
	Topic   string    `json:"topic"`
	Of      string    `json:"of"` // partition/offset of the record in its topic
	Crawl   string    `json:"crawl,omitempty"`
	URL     string    `json:"url,omitempty"`
	Request string    `json:"request,omitempty"`
	Error   string    `json:"error"`
	Tries   uint32    `json:"tries"`

	Dead *schemas.DeadLetter `json:"-"`
}

func newLetter(r stream.Record) (Letter, error) {
	l := new(schemas.DeadLetter)
	if err := proto.Unmarshal(r.Value, l); err != nil {
		return Letter{}, fmt.Errorf("%s offset %d cannot be read: %w", r.Topic, r.Offset, err)
	}
	letter := Letter{
		Number: r.Offset, At: time.UnixMilli(l.GetAt()).UTC(), Stage: l.GetStage(), Topic: l.GetTopic(),
		Of: fmt.Sprintf("%d/%d", l.GetPartition(), l.GetOffset()), Error: l.GetError(), Tries: l.GetTries(), Dead: l,
	}
	headers := letter.Headers()
	letter.Crawl, letter.URL, letter.Request = headers[schemas.HeaderCrawl], headers[schemas.HeaderURL], headers[schemas.HeaderID]
	return letter, nil
}

// Headers are those of the record that the letter contains.
func (l Letter) Headers() map[string]string {
	h := make(map[string]string, len(l.Dead.GetHeaders()))
	for _, x := range l.Dead.GetHeaders() {
		h[x.GetKey()] = string(x.GetValue())
	}
	return h
}

// Drops reports whether a record of dead.letter drops the letter whose number it has as its offset: it is about a record of dead.letter,
// and of no stage.
func Drops(l *schemas.DeadLetter) bool {
	return l.GetStage() == "" && l.GetTopic() == schemas.TopicDeadLetter
}

// Letters calls f for each dead letter that is retained and was not dropped, oldest first.
func Letters(ctx context.Context, b *Topics, f func(Letter) error) error {
	const topic = schemas.TopicDeadLetter
	n, err := b.Client.Partitions(ctx, topic)
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("topic %s has %d partitions; letters are numbered by their offset in a single one", topic, n)
	}
	first, end, err := b.Client.Offsets(ctx, topic, 0)
	if err != nil {
		return err
	}
	each := func(f func(Letter) error) error {
		return b.Client.Read(ctx, topic, 0, first, end, func(r stream.Record) error {
			l, err := newLetter(r)
			if err != nil {
				return err
			}
			return f(l)
		})
	}
	dropped := make(map[int64]bool) // a letter is dropped by a later record
	err = each(func(l Letter) error {
		if Drops(l.Dead) {
			dropped[l.Number], dropped[l.Dead.GetOffset()] = true, true
		}
		return nil
	})
	if err != nil {
		return err
	}
	return each(func(l Letter) error {
		if dropped[l.Number] {
			return nil
		}
		return f(l)
	})
}

// LetterFilter chooses letters.
type LetterFilter struct {
	Crawl string `json:"crawl,omitempty" doc:"Of this crawl only." help:"Of this crawl only."`
	Stage string `json:"stage,omitempty" doc:"Of this stage only." help:"Of this stage only."`
	// Class is a class of errors, as analytics.Letters has it, of exactly this crawl and stage.
	Class string `json:"class,omitempty" doc:"Of this class of errors only, of exactly this crawl and stage." kong:"-"`
	// Before is a number; letters from there on are left alone. 0 = none is.
	Before int64 `json:"before,omitempty" minimum:"0" doc:"Of lower numbers only; 0 = of all." kong:"-"`
}

// Validate returns an error if the filter names what is no stage.
func (f *LetterFilter) Validate() error {
	if f.Stage != "" && !slices.Contains(StageNames, f.Stage) {
		return refusef("--stage %q is none of %s", f.Stage, strings.Join(StageNames, ", "))
	}
	return nil
}

// Takes reports whether the filter chooses a letter.
func (f *LetterFilter) Takes(l Letter) bool {
	switch {
	case f.Before > 0 && l.Number >= f.Before:
		return false
	case f.Class != "": // forms of pages change the space between words
		return f.Crawl == l.Crawl && f.Stage == l.Stage && slices.Equal(strings.Fields(f.Class), strings.Fields(analytics.ErrorClass(l.Error)))
	}
	return (f.Crawl == "" || f.Crawl == l.Crawl) && (f.Stage == "" || f.Stage == l.Stage)
}

// LetterChoice names letters, or has a filter.
type LetterChoice struct {
	Numbers      []int64 `json:"numbers,omitempty" maxItems:"1000" doc:"Numbers of letters; without a filter." arg:"" optional:"" name:"number" help:"Numbers of letters (forager dead list)."`
	LetterFilter `embed:""`
}

// Check returns an error if the choice has both numbers and a filter, or neither.
func (c *LetterChoice) Check() error {
	if (len(c.Numbers) > 0) == (c.Crawl != "" || c.Stage != "" || c.Class != "") {
		return refusef("give numbers of letters, or --crawl and --stage that choose them")
	}
	return c.Validate()
}

// Letters returns the chosen letters, oldest first; those of a filter without the records that they contain.
func (c *LetterChoice) Letters(ctx context.Context, b *Topics) (chosen []Letter, err error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	missing := slices.Clone(c.Numbers)
	err = Letters(ctx, b, func(l Letter) error {
		i := slices.Index(missing, l.Number)
		if i >= 0 {
			missing = slices.Delete(missing, i, i+1)
		}
		if len(c.Numbers) == 0 && c.Takes(l) {
			l.Dead.Value = nil
			i = 0
		}
		if i >= 0 {
			chosen = append(chosen, l)
		}
		return nil
	})
	if err == nil && len(missing) > 0 {
		err = reason{fmt.Errorf("no dead letter %s; forager dead list shows those that are retained", strings.Trim(fmt.Sprint(missing), "[]")), ErrUnknown}
	}
	return chosen, err
}

// Replayed is the result of Replay.
type Replayed struct {
	Asked   int    `json:"asked" doc:"Requests that are to be tried again."`
	Refused uint64 `json:"refused" doc:"Of these, as far as it was waited for: those that have been tried again since, or have not failed."`
	Skipped int    `json:"skipped" doc:"Letters that contain no request that can be tried again."`

	sent []sentReplays
}

// sentReplays are what a crawl was sent: the last offsets of link.found, by partition; and its status before.
type sentReplays struct {
	crawl  string
	before *schemas.CrawlStatus
	last   map[int]int64
}

// Replay asks for another attempt of the requests of letters. If letters are named, each must be replayable, or nothing is sent; of letters
// chosen by a filter, others are skipped.
func Replay(ctx context.Context, b *Topics, choice *LetterChoice) (*Replayed, error) {
	if choice.Crawl != "" && choice.Class == "" {
		if _, err := b.Control(choice.Crawl); err != nil {
			return nil, err
		}
	}
	chosen, err := choice.Letters(ctx, b)
	if err != nil {
		return nil, err
	}
	result, asks, known := new(Replayed), make(map[string][]*schemas.LinkFound), make(map[string]bool)
	var bad []error
	for _, l := range chosen {
		rec, err := AskReplay(l, time.Now())
		if err == nil {
			var ctl *schemas.CrawlControl
			if ctl, err = b.Control(l.Crawl); err == nil {
				err = GoesOn(ctl, b.Status(l.Crawl))
			}
		}
		switch {
		case err != nil && len(choice.Numbers) > 0:
			bad = append(bad, fmt.Errorf("letter %d: %w", l.Number, err))
		case err != nil:
			result.Skipped++
		case !known[string(rec.GetReplay())]:
			known[string(rec.GetReplay())] = true
			asks[l.Crawl] = append(asks[l.Crawl], rec)
		}
	}
	if err := errors.Join(bad...); err != nil {
		return nil, refusef("%w; nothing was sent", err)
	}
	for _, crawl := range slices.Sorted(maps.Keys(asks)) {
		if err := result.send(ctx, b, crawl, asks[crawl]); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// AskReplay makes the record of link.found that requests another attempt for a letter. The error is the reason why there is none.
func AskReplay(l Letter, now time.Time) (*schemas.LinkFound, error) {
	switch l.Topic {
	case schemas.TopicFetchRequested, schemas.TopicPageFetched, schemas.TopicPageParsed, schemas.TopicPageJudged, schemas.TopicLinkFound:
	default:
		return nil, fmt.Errorf("a record of %s belongs to no request", l.Topic)
	}
	if i := slices.Index(StageNames, l.Stage); i < 0 || i >= loop {
		return nil, fmt.Errorf("its request went on: only %s could not handle the record", l.Stage)
	}
	request, err := schemas.RequestFromHeaders(l.Headers())
	if err != nil {
		return nil, fmt.Errorf("it is about no request: %w", err)
	}
	// The frontier decides whether a request can be replayed. A repeated call sends a new record, which it refuses and counts.
	return schemas.ReplayOf(request, now)
}

// send sends the records of one crawl.
func (x *Replayed) send(ctx context.Context, b *Topics, crawl string, asks []*schemas.LinkFound) error {
	sent := sentReplays{crawl, b.Status(crawl), make(map[int]int64)} // shards have several partitions
	for _, rec := range asks {
		shard := rec.GetShard()
		headers := map[string]string{schemas.HeaderCrawl: crawl, schemas.HeaderShard: strconv.FormatUint(uint64(shard), 10)}
		at, err := b.Send(ctx, schemas.TopicLinkFound, schemas.ShardKey(crawl, shard), headers, rec)
		if err != nil {
			return fmt.Errorf("ask for a replay of %s: %w", rec.GetUrl(), err)
		}
		sent.last[at.Partition] = at.Offset
		x.Asked++
	}
	x.sent = append(x.sent, sent)
	return nil
}

// Await waits until each crawl has taken what it was asked, and counts what it refused.
func (x *Replayed) Await(ctx context.Context, b *Topics, wait time.Duration) error {
	for _, sent := range x.sent {
		if err := Taken(ctx, b, sent.crawl, sent.last, wait); err != nil {
			return err
		}
		refused := func(st *schemas.CrawlStatus) uint64 { return st.GetRefused()[string(scope.Replay)] }
		is := refused(b.Status(sent.crawl))
		x.Refused += is - min(is, refused(sent.before))
	}
	return nil
}

// Dropped is the result of Drop.
type Dropped struct {
	Letters int `json:"dropped" doc:"Number of letters."`
}

// Drop takes letters out of lists and counts, by a record of dead.letter for each; the records themselves stay until their retention ends.
func Drop(ctx context.Context, b *Topics, choice *LetterChoice) (*Dropped, error) {
	chosen, err := choice.Letters(ctx, b)
	var out []stream.Out
	for _, l := range chosen {
		value, invalid := proto.Marshal(&schemas.DeadLetter{Topic: schemas.TopicDeadLetter, Offset: l.Number, At: time.Now().UnixMilli()})
		err = errors.Join(err, invalid)
		headers := map[string]string{schemas.HeaderCrawl: l.Crawl, schemas.HeaderVersion: strconv.Itoa(schemas.Version)}
		out = append(out, stream.Out{Topic: schemas.TopicDeadLetter, Partition: -1, Key: []byte(l.Crawl), Value: value, Headers: headers})
	}
	if err == nil && len(out) > 0 {
		_, err = b.Client.Produce(ctx, out)
	}
	return &Dropped{len(out)}, err
}
