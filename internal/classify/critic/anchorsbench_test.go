package critic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"forager/internal/classify/taxonomy"
	"forager/internal/page/dom"
)

// BenchmarkAnchors judges the texts of a page's 100 links, compared with the page itself.
func BenchmarkAnchors(b *testing.B) {
	var topics []string
	for i := range 15 {
		topics = append(topics, fmt.Sprintf("topic%d/word%d/other%d", i, i, i))
	}
	m, _ := train(b, sentences(40, topics...), Settings{})
	r := rand.New(rand.NewPCG(1, 1))
	var html strings.Builder
	for i := range 100 {
		fmt.Fprintf(&html, "<p>the page of word%d and a link of the other%d kind <a href=/%d/word%d_page.html>word%d link other%d</a>", r.IntN(15), r.IntN(15), i, r.IntN(15), r.IntN(15), r.IntN(15))
	}
	p, err := dom.Parse([]byte(html.String()), "text/html", "http://h/", dom.Settings{})
	if err != nil {
		b.Fatal(err)
	}
	weights, err := Weigh(m, taxonomy.Marking{Good: m.Classes()[:1]})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			if _, err := Judge(context.Background(), m, p, weights); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, urls := range map[string]bool{"anchors": false, "anchors and URLs": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := JudgeAnchors(context.Background(), m, p, weights, urls); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("parse", func(b *testing.B) {
		body := []byte(html.String())
		for b.Loop() {
			if _, err := dom.Parse(body, "text/html", "http://h/", dom.Settings{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
