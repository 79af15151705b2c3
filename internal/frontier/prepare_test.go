package frontier

import (
	"fmt"
	"testing"

	"forager/schemas"
)

// TestEntryChangedByItsOwnPageIsReadAgain: a page links to a URL by another one that redirected there, and then by its own
// name. What was read of it ahead lacks the first link.
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
			v, err := s.shard.seen(onA("v"))
			if err != nil {
				t.Fatal(err)
			}
			if len(v.links) != 3 { // the seeds', by its former name, and both of u's
				t.Errorf("v has %d links, want 3", len(v.links))
			}
		})
	}
}
