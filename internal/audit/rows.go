package audit

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// outcomes by their names in ClickHouse.
var outcomes = func() map[string]schemas.Outcome {
	m := make(map[string]schemas.Outcome)
	for o := range schemas.Outcomes {
		m[schemas.OutcomeName(o)] = o
	}
	return m
}()

// row reads the columns of a row one after another.
type row struct {
	texts []string
	at    int
	err   error
}

func (r *row) text() string {
	if r.at >= len(r.texts) {
		r.fail("it ends early")
		return ""
	}
	r.at++
	return r.texts[r.at-1]
}

func (r *row) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("column %d: "+format, append([]any{r.at}, args...)...)
	}
}

func (r *row) uint() uint64 {
	n, err := strconv.ParseUint(r.text(), 10, 64)
	if err != nil {
		r.fail("%w", err)
	}
	return n
}

func (r *row) uint32() uint32 { return uint32(r.uint()) }

func (r *row) float() float64 { return math.Float64frombits(r.uint()) }

func (r *row) bool() bool { return r.text() == "true" }

func (r *row) id() []byte {
	id, err := schemas.ParseHex(r.text())
	if err != nil {
		r.fail("%w", err)
	}
	return id.Bytes()
}

func (r *row) outcome() schemas.Outcome {
	name := r.text()
	o, ok := outcomes[name]
	if !ok {
		r.fail("unknown outcome %q", name)
	}
	return o
}

// shadows returns the judgements of shadow critics, in the form of shadowsOf.
func (r *row) shadows() (all []*schemas.Shadow) {
	for name, one := range r.listed(5) {
		failure, err := hex.DecodeString(one.texts[4])
		if err != nil {
			one.fail("%w", err)
		}
		all = append(all, &schemas.Shadow{
			Critic: name, Raw: one.float(), Tempered: one.float(), Calibrated: one.float(), BestIsFocus: one.bool(), Failure: string(failure),
		})
		r.err = cmp.Or(r.err, one.err)
	}
	return all
}

// places returns the positions given by shadow rankers, in the form of placesOf.
func (r *row) places() (all []*schemas.ShadowPlace) {
	for name, one := range r.listed(4) {
		all = append(all, &schemas.ShadowPlace{Policy: name, Dropped: one.bool(), Tier: one.uint32(), Score: one.float(), Model: one.text()})
		r.err = cmp.Or(r.err, one.err)
	}
	return all
}

// listed splits a text of shadows into one row of n columns for each.
func (r *row) listed(n int) iter.Seq2[string, *row] {
	shadows := strings.Fields(r.text())
	return func(yield func(string, *row) bool) {
		for _, s := range shadows {
			name, texts, _ := strings.Cut(s, "=")
			one := &row{texts: strings.SplitN(texts, ",", n)}
			if len(one.texts) != n {
				r.fail("shadow %q", s)
				return
			}
			if !yield(name, one) {
				return
			}
		}
	}
}

// queries returns those of backlinks, which follow the number of links, which is skipped.
func (r *row) queries() *schemas.Backlinks {
	r.text()
	return &schemas.Backlinks{Queries: r.uint32()}
}

// messageOf reconstructs a record of a topic from ClickHouse's row, with the fields that an audit reads. The
// links of link.found have separate rows.
func messageOf(topic, crawl string, texts []string) (proto.Message, error) {
	r := &row{texts: texts}
	var m proto.Message
	switch topic {
	case schemas.TopicFetchRequested:
		m = &schemas.FetchRequest{
			Crawl: crawl, Id: r.id(), Url: r.text(), Host: r.text(), Attempt: r.uint32(), Score: r.float(), Policy: r.text(), Model: r.text(),
			Ordinal: r.uint(), Clock: r.uint(), Shard: r.uint32(), Hops: r.uint32(), Depth: r.uint32(),
		}
	case schemas.TopicPageFetched:
		m = &schemas.PageFetched{
			Crawl: crawl, Id: r.id(), Url: r.text(), Outcome: r.outcome(), Status: r.uint32(), Redirect: r.text(), Digest: r.text(),
			Object: r.text(), Offset: r.uint(), Length: r.uint(),
		}
	case schemas.TopicPageJudged:
		m = &schemas.PageJudged{
			Crawl: crawl, Id: r.id(), Outcome: r.outcome(),
			Judgement: &schemas.Judgement{
				Raw: r.float(), Tempered: r.float(), Calibrated: r.float(), BestIsFocus: r.bool(), Critic: r.text(),
				Marking: r.uint(), Degraded: r.text(), Shadows: r.shadows(),
			},
		}
	case schemas.TopicLinkFound:
		m = &schemas.LinkFound{
			Crawl: crawl, Id: r.id(), Shard: r.uint32(), Url: r.text(), Outcome: r.outcome(), Status: r.uint32(), Redirect: r.text(),
			Judgement: &schemas.Judgement{Raw: r.float(), Tempered: r.float(), Calibrated: r.float(), BestIsFocus: r.bool(), Backlinks: r.queries()},
		}
	case schemas.TopicLeapSettled:
		m = &schemas.LeapSettled{
			Crawl: crawl, Id: r.id(), U: r.text(), V: r.text(), Outcome: r.outcome(), TargetRaw: r.float(), TargetTempered: r.float(),
			SourceRaw: r.float(), SourceTempered: r.float(), Score: r.float(), Policy: r.text(), Model: r.text(),
			Trains: r.bool(), Request: r.id(), Forward: r.bool(), Shadows: r.places(),
		}
	}
	return m, r.err
}
