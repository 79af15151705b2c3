package frontier

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"forager/internal/frontier/rescore"
	"forager/internal/frontier/storage"
	"forager/schemas"
)

// TestEntryChangedByItsOwnPageIsReadAgain: a page links to a URL by another one that redirected there, and then by its own
// name. The entry that was read in advance lacks the first link.
func TestEntryChangedByItsOwnPageIsReadAgain(t *testing.T) {
	for _, prepared := range []bool{false, true} {
		t.Run(fmt.Sprint(prepared), func(t *testing.T) {
			s := newScript(t, func(c *schemas.CrawlControl) { c.Window = 10 })
			s.seed(onA("u"), onA("old"), onA("x"))
			s.dispatch(3)
			s.redirect(onA("old"), onA("v"))
			s.shard.SetMemory(1)
			rec := s.answer(onA("u"), schemas.Outcome_OUTCOME_DELIVERED)
			rec.Judgement = &schemas.Judgement{Raw: 1, Tempered: 1, Calibrated: 1}
			rec.Links = linksTo(onA("old"), onA("x"), onA("v"))
			if prepared {
				if err := s.shard.Prepare([]*schemas.LinkFound{rec}); err != nil {
					t.Fatal(err)
				}
			}
			s.apply(rec)
			v, err := s.shard.state.Seen(onA("v"))
			if err != nil {
				t.Fatal(err)
			}
			if len(v.Links) != 3 { // the seeds', by its former name, and both of u's
				t.Errorf("v has %d links, want 3", len(v.Links))
			}
		})
	}
}

// touchy is a Store that panics when it is read for a URL concurrently.
type touchy struct {
	storage.Store
	url schemas.ID
}

func (s touchy) Read(key, buf []byte) ([]byte, bool, error) {
	if bytes.HasSuffix(key, s.url.Bytes()) {
		panic("a damaged table")
	}
	return s.Store.Read(key, buf)
}

// TestPanicIsChargedToItsRecord: a panic while verdicts are prepared does not end the process; Apply returns it
// for the verdict that caused it, and takes the others.
func TestPanicIsChargedToItsRecord(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) { c.Window = 10 })
	s.seed(onA("u"), onA("v"), onA("w"), onA("x"))
	s.want(s.dispatch(3), onA("u"), onA("v"), onA("w"))
	s.store = touchy{s.store, schemas.URLID(onA("x"))}
	s.open() // nothing is in memory
	var recs []*schemas.LinkFound
	for i, u := range []string{"u", "v", "w"} {
		rec := s.answer(onA(u), schemas.Outcome_OUTCOME_DELIVERED)
		rec.Judgement = &schemas.Judgement{Raw: 1, Tempered: 1, Calibrated: 1}
		rec.Links = linksTo(onA([]string{"y", "x", "y"}[i]))
		recs = append(recs, rec)
	}
	if err := s.shard.Prepare(recs); err != nil {
		t.Fatal(err)
	}
	for i, rec := range recs {
		if _, err := s.shard.Apply(rec, s.now); (err != nil) != (i == 1) || err != nil && !strings.Contains(err.Error(), "panic: a damaged table") {
			t.Errorf("verdict %d: %v", i, err)
		}
	}
	if err := s.shard.workers.InParallel(4, func(*rescore.Worker, int) error { panic("a damaged page") }); err == nil || !strings.Contains(err.Error(), "panic: a damaged page") {
		t.Errorf("work in parallel that panics: %v", err)
	}
}
