//go:build webs

package critic

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"forager/internal/measure/evaluate"
	"forager/internal/page/dom"
	"forager/internal/page/text"
	"forager/internal/testkit/frozen"
	"forager/internal/web/warc"
	"forager/schemas"
)

// universityPage is a page of webkb.
type universityPage struct {
	class, university string
	page              *schemas.Page
}

// universities reads the labelled pages of webkb.
func universities(t testing.TB) []universityPage {
	t.Helper()
	labels := maps.Collect(frozen.Labels(t, "webkb"))
	var pages []universityPage
	for record, err := range warc.Responses(frozen.Path(t, frozen.Webs, "webkb.warc.gz")) {
		if err != nil {
			t.Fatal(err)
		}
		class, university, ok := strings.Cut(labels[record.TargetURI], "/")
		if !ok {
			continue
		}
		answer, err := record.Response()
		if err != nil {
			t.Fatal(err)
		}
		body, err := answer.Payload(1 << 30)
		if err != nil {
			t.Fatal(err)
		}
		p, err := dom.Parse(body, answer.Header.Get("Content-Type"), record.TargetURI, dom.Settings{})
		if err != nil || answer.Status != 200 {
			continue // a few pages were stored under names that are no URLs
		}
		pages = append(pages, universityPage{class, university, p})
	}
	return pages
}

// heldOutUniversities judges the pages of each university by a critic of all others, trained by s.
func heldOutUniversities(t testing.TB, pages []universityPage, cut text.Settings, s Settings) (names []string, judged []evaluate.Page) {
	t.Helper()
	for _, out := range []string{"cornell", "texas", "washington", "wisconsin"} {
		e := NewExamples(cut)
		for _, p := range pages {
			if p.university != out {
				if err := e.AddPage(p.page.Url, []string{p.class}, p.page); err != nil {
					t.Fatal(err)
				}
			}
		}
		m, _, err := Train(t.Context(), e, s)
		if err != nil {
			t.Fatal(err)
		}
		names = m.Classes()
		for _, p := range pages {
			if p.university == out {
				judged = append(judged, predictionOn(t, m, p.page, p.class))
			}
		}
	}
	return names, judged
}

func predictionOn(t testing.TB, m *Model, p *schemas.Page, class string) evaluate.Page {
	t.Helper()
	o := NewPrediction(len(m.Classes()))
	if err := m.Predict(context.Background(), o, p); err != nil {
		t.Fatal(err)
	}
	own, ok := slices.BinarySearch(m.Classes(), class)
	if !ok {
		t.Fatalf("no class %s", class)
	}
	return evaluate.Page{URL: p.Url, Own: []int{own}, Posteriors: [evaluate.Kinds][]float64{o.Raw, o.Tempered, o.Calibrated}}
}

// TestWebsSettingsOfWords measures the effect of each setting on a flat critic: on the main subjects of an
// encyclopedia by five folds, on the page types of universities by held-out university (docs/decisions/0323).
func TestWebsSettingsOfWords(t *testing.T) {
	pages := universities(t)
	for _, settings := range []string{"bigrams", "stop", "stem", "numbers=shaped"} {
		cut, err := text.ParseSettings(settings)
		if err != nil {
			t.Fatal(err)
		}
		e := NewExamples(cut)
		schoolsInto(t, e, mainSubject)
		m, _, all, err := Validate(t.Context(), e, Settings{Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		var held []evaluate.Page
		for _, h := range all {
			held = append(held, evaluate.Page{URL: h.URL, Own: h.Classes, Posteriors: [evaluate.Kinds][]float64{h.Raw, h.Tempered, h.Calibrated}})
		}
		_, judged := heldOutUniversities(t, pages, cut, Settings{Exact: true})
		if held, judged := evaluate.Measure(held, evaluate.Calibrated), evaluate.Measure(judged, evaluate.Calibrated); held.Accuracy < .72 || judged.Accuracy < .53 {
			t.Errorf("%s: accuracy %.3f and %.3f", settings, held.Accuracy, judged.Accuracy)
		}
		t.Logf("%-28s %6d words; schools %s; webkb %s", settings, m.Words(), scores(held), scores(judged))
	}
}

func scores(pages []evaluate.Page) string {
	raw, tempered, calibrated := evaluate.Measure(pages, evaluate.Raw), evaluate.Measure(pages, evaluate.Tempered), evaluate.Measure(pages, evaluate.Calibrated)
	return fmt.Sprintf("accuracy %.4f raw, %.4f calibrated, log loss %.3f raw, %.4f tempered, %.4f calibrated, ECE %.3f %.3f %.3f",
		raw.Accuracy, calibrated.Accuracy, raw.LogLoss, tempered.LogLoss, calibrated.LogLoss, raw.ECE, tempered.ECE, calibrated.ECE)
}
