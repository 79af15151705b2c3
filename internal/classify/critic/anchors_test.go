package critic

import (
	"context"
	"math"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/classify/taxonomy"
	"forager/internal/page/dom"
	"forager/internal/page/text"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// TestAnchorsAreJudgedAsTexts compares with the same words, and those of URLs, judged as a text of their own, also in a script without spaces.
func TestAnchorsAreJudgedAsTexts(t *testing.T) {
	all := sentences(40, "a/chess", "a/go", "b/cars", "a/围棋", "b/汽车")
	m, _, err := Train(t.Context(), examplesBy(t, text.Settings{Bigrams: true}, all), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	weights, err := Weigh(m, taxonomy.Marking{Good: []string{"a"}, Weights: map[string]float64{"a": .5}})
	if err != nil {
		t.Fatal(err)
	}
	vocabulary := append(strings.Fields("a b chess go cars page link the of 围棋 汽车 围"), "unheard")
	segments := []string{"", "chess", "go_cars.html", "Chess-unheard/", "a?b=cars", url.PathEscape("围棋"), url.PathEscape("汽车_go"), strings.Repeat("chess_cars_", mostURLWords/2) + "go_go_go"}
	rapid.Check(t, func(t *rapid.T) {
		var html strings.Builder
		var texts []string
		urls := rapid.Bool().Draw(t, "urls")
		for i := range rapid.IntRange(0, 5).Draw(t, "links") {
			segment := rapid.SampledFrom(segments).Draw(t, "segment")
			words := strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 4).Draw(t, "words"), " ")
			html.WriteString("<p>" + rapid.SampledFrom(vocabulary).Draw(t, "text before") + " <a href=/" + string(rune('p'+i)) + "/" + segment + "><b>" + words + "</b></a>")
			if urls {
				if segment == "" {
					segment = string(rune('p' + i))
				}
				ofURL := strings.Fields(weburl.LastSegment("http://h/" + segment))
				words += " . " + strings.Join(ofURL[:min(len(ofURL), mostURLWords)], " ")
			}
			texts = append(texts, words)
		}
		p, err := dom.Parse([]byte(html.String()), "text/html", "http://h/", dom.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		anchors, err := JudgeAnchors(context.Background(), m, p, weights, urls)
		if err != nil || len(anchors) != len(p.Links) || len(anchors) != len(texts) {
			t.Fatalf("%d anchors of %d links, %v", len(anchors), len(p.Links), err)
		}
		for i, text := range texts {
			j, err := m.JudgeText(text, []string{"a"})
			if err != nil {
				t.Fatal(err)
			}
			if want := math.Round(j.Raw / 2 * schemas.AnchorSteps); math.Abs(float64(anchors[i])-want) > 1 {
				t.Fatalf("%q: %d, want %v", text, anchors[i], want)
			}
		}
	})
}

type service struct{ Classifier }

func (service) Asks() bool { return true }

func TestNoAnchorsWithoutSource(t *testing.T) {
	m, _ := train(t, sentences(10, "a", "b"), Settings{})
	p := page("http://h/", "a b")
	p.Links = []*schemas.Link{{Url: "http://h/v", FirstLeaf: 7, LastLeaf: 9}}
	for name, c := range map[string]struct {
		by       Classifier
		nofollow bool
		want     int
	}{"links beyond the last leaf": {m, false, 1}, "a service": {service{m}, false, 0}, "no links to follow": {m, true, 0}} {
		p.Nofollow = c.nofollow
		if anchors, err := JudgeAnchors(context.Background(), c.by, p, &taxonomy.Weights{Focus: []float64{1, 0}}, true); err != nil || len(anchors) != c.want {
			t.Errorf("%s: %v, %v", name, anchors, err)
		}
	}
}
