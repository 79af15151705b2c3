//go:build webs

package dom

import (
	"testing"

	"forager/internal/testkit/frozen"
	"forager/internal/web/warc"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// storedPages reads the pages of a web under FORAGER_WEBS.
func storedPages(tb testing.TB, web string) []stored {
	tb.Helper()
	var pages []stored
	for record, err := range warc.Responses(frozen.Path(tb, frozen.Webs, web+".warc.gz")) {
		if err != nil {
			tb.Fatal(err)
		}
		answer, err := record.Response()
		if err != nil {
			tb.Fatal(err)
		}
		body, err := answer.Payload(1 << 30)
		if err != nil {
			tb.Fatal(err)
		}
		if answer.Status == 200 {
			if _, err := weburl.Parse(record.TargetURI); err != nil {
				record.TargetURI = "http://unnamed.invalid/" // a few pages were stored under names that are no URLs
			}
			pages = append(pages, stored{record.TargetURI, answer.Header.Get("Content-Type"), body})
		}
	}
	return pages
}

func BenchmarkWebs(b *testing.B) {
	for _, web := range []string{"webkb", "webplatform"} {
		pages := storedPages(b, web)
		b.Run(web, func(b *testing.B) { measureSteps(b, pages) })
	}
}

// TestWebsPagesKeepTheirPromises reads every page of the frozen webs in both modes: all as trees,
// none cut, leaves and links as the definition has them.
func TestWebsPagesKeepTheirPromises(t *testing.T) {
	for web, want := range map[string]int{"webkb": 8275, "webplatform": 5194} {
		pages := storedPages(t, web)
		if len(pages) != want {
			t.Errorf("%s has %d pages, want %d", web, len(pages), want)
		}
		for _, p := range pages {
			var lengths [2]int
			for i, mode := range []schemas.LeafMode{schemas.LeafMode_LEAF_MODE_COMPACT, schemas.LeafMode_LEAF_MODE_PAPER} {
				page, err := Parse(p.body, p.contentType, p.url, Settings{Leaves: mode})
				if err != nil {
					t.Fatal(err)
				}
				check(t, page)
				if page.TokenizerOnly || page.Cut {
					t.Errorf("%s: tokenizer only %v, cut %v", p.url, page.TokenizerOnly, page.Cut)
				}
				lengths[i] = len(page.LeafLengths)
			}
			enc := detect(p.body, p.contentType)
			doc, err := repair(enc.decode(p.body))
			if err != nil {
				t.Fatal(p.url, err)
			}
			compact, paper := numbering{}, numbering{paper: true}
			compact.walk(doc)
			paper.walk(doc)
			if lengths != [2]int{len(compact.leaves), len(paper.leaves)} {
				t.Errorf("%s has %v leaves, want %d and %d", p.url, lengths, len(compact.leaves), len(paper.leaves))
			}
		}
	}
}
