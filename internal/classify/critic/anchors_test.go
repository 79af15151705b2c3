package critic

import (
	"context"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/classify/taxonomy"
	"forager/internal/page/dom"
	"forager/schemas"
)

// TestAnchorsAreJudgedAsTexts compares with the same words judged as a text of their own.
func TestAnchorsAreJudgedAsTexts(t *testing.T) {
	m, _ := train(t, sentences(40, "a/chess", "a/go", "b/cars"), Settings{})
	weights, err := Weigh(m, taxonomy.Marking{Good: []string{"a"}, Weights: map[string]float64{"a": .5}})
	if err != nil {
		t.Fatal(err)
	}
	words := append(strings.Fields("a b chess go cars page link the of"), "unheard")
	rapid.Check(t, func(t *rapid.T) {
		var html strings.Builder
		var texts []string
		for i := range rapid.IntRange(0, 5).Draw(t, "links") {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 4).Draw(t, "words"), " ")
			html.WriteString("<p>" + rapid.SampledFrom(words).Draw(t, "beside") + " <a href=/" + string(rune('a'+i)) + "><b>" + text + "</b></a>")
			texts = append(texts, text)
		}
		p, err := dom.Parse([]byte(html.String()), "text/html", "http://h/", dom.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		anchors, err := SayAnchors(context.Background(), m, p, weights)
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
		if anchors, err := SayAnchors(context.Background(), c.by, p, &taxonomy.Weights{Focus: []float64{1, 0}}); err != nil || len(anchors) != c.want {
			t.Errorf("%s: %v, %v", name, anchors, err)
		}
	}
}
