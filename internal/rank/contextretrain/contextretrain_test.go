package contextretrain

import (
	"bytes"
	"fmt"
	"testing"

	"forager/internal/frontier"
	"forager/schemas"
)

func page(i int, relevance float64, links ...int) *schemas.LinkFound {
	url := func(i int) string { return fmt.Sprintf("http://h.test/%d", i) }
	rec := &schemas.LinkFound{
		Id: schemas.RequestID("c", url(i), 1).Bytes(), Crawl: "c", Url: url(i), Outcome: schemas.Outcome_OUTCOME_DELIVERED,
		Judgement: &schemas.Judgement{Raw: relevance, Document: &schemas.Document{Words: []string{"acid", fmt.Sprintf("b%d", i%3)}, Counts: []uint32{1, 2}}},
	}
	for _, l := range links {
		rec.Links = append(rec.Links, &schemas.Link{Url: url(l)})
	}
	return rec
}

// TestGuidesFollowFromWhatWasNoted: copies count once, the next owner continues where the last one was, layers are those of
// the links between fetched pages, and backlinks of a page are not links of it.
func TestGuidesFollowFromWhatWasNoted(t *testing.T) {
	store := frontier.NewMemory()
	pages, err := Open(store, []byte("p"))
	if err != nil {
		t.Fatal(err)
	}
	target := page(0, .5)
	target.Links = []*schemas.Link{{Url: "http://h.test/2", Backlink: true}}
	var before []byte
	for i, rec := range []*schemas.LinkFound{page(3, .1, 2, 9), page(2, .1, 1), page(1, .4, 0), target, page(1, .4, 0), target} {
		if err := pages.Note(rec, int64(i)); err != nil {
			t.Fatal(err)
		}
		if pages, err = Open(store, []byte("p")); err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			continue
		}
		if n, targets := pages.Pages(); n != 4 || targets != 1 {
			t.Fatalf("%d pages, %d targets", n, targets)
		}
		guide, report, err := pages.Train(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		var layers []int
		for _, l := range report.Graph.Layers {
			layers = append(layers, len(l))
		}
		if fmt.Sprint(layers) != "[1 1 1 1 0]" {
			t.Errorf("layers %v", layers)
		}
		if made := guide.Marshal(); before != nil && !bytes.Equal(made, before) {
			t.Error("a copy made another guide")
		} else {
			before = made
		}
	}
	if err := pages.Drop(); err != nil {
		t.Fatal(err)
	}
	if err := store.Scan([]byte{0}, []byte{0xff}, func(key, _ []byte) (bool, error) { t.Errorf("%x is left", key); return true, nil }); err != nil {
		t.Fatal(err)
	}
}
