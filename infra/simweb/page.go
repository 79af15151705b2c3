package simweb

import (
	"strings"
)

// link is one HREF of a page before it is written down.
type link struct {
	url   string
	topic int // of the target
}

// Page returns the HTML of the page at a URL of the web. For an alias it returns the URL it
// redirects to. ok is false for a URL that does not exist (404).
func (w *Web) Page(url string) (html, redirect string, ok bool) {
	id, alias, ok := w.parse(url)
	if !ok {
		return "", "", false
	}
	if alias {
		return "", w.url(id), true
	}
	if w.hub(id) {
		return w.hubPage(id), "", true
	}
	return w.contentPage(id), "", true
}

// target picks a page of a topic; low numbers are linked to more often.
func (w *Web) target(s *stream, topic int) link {
	u := s.unit()
	id := uint64(topic)*w.perTopic + uint64(u*u*float64(w.perTopic))
	switch v := s.unit(); {
	case v < w.c.Dead:
		return link{w.deadURL(id, s.intn(1000)), topic}
	case v < w.c.Dead+w.c.Alias:
		return link{w.aliasURL(id), topic}
	}
	return link{w.url(id), topic}
}

// leads picks the topic that a link of a page about topic leads to.
func (w *Web) leads(s *stream, topic int) int {
	rest := (1 - w.c.Locality) / 2
	switch u := s.unit(); {
	case u < w.c.Locality:
		return topic
	case u < w.c.Locality+rest:
		return topic/w.c.Leaves*w.c.Leaves + s.intn(w.c.Leaves)
	}
	return s.intn(len(w.topics))
}

var anchors = []string{"here", "more", "this page", "read on", "see also", "link", "details", "page", "next"}

func (w *Web) contentPage(id uint64) string {
	s := &stream{state: w.hash(id, 10)}
	topic := w.topic(id)
	pick := func() string { return w.language.of(s, topic) }
	var b strings.Builder
	w.head(&b, s, pick)
	w.navigation(&b, s, id)
	b.WriteString("<h1>")
	sentence(&b, 3+s.intn(4), pick)
	b.WriteString("</h1>\n")
	paragraphs := 2 + s.intn(4)
	each := max(15, int(s.lognormal(220, 0.6))/paragraphs)
	for range paragraphs {
		b.WriteString("<p>")
		sentence(&b, each, pick)
		b.WriteString("</p>\n")
	}
	// Links in a list, a leaf of words before and behind each.
	b.WriteString("<ul>\n")
	for range 4 + s.intn(9) {
		w.item(&b, s, w.target(s, w.leads(s, topic)), pick)
	}
	b.WriteString("</ul>\n")
	w.foot(&b, s, id)
	return b.String()
}

func (w *Web) hubPage(id uint64) string {
	s := &stream{state: w.hash(id, 11)}
	topic := w.topic(id)
	pick := func() string { return zipf(s, w.language.background) }
	var b strings.Builder
	w.head(&b, s, pick)
	w.navigation(&b, s, id)
	b.WriteString("<h1>")
	sentence(&b, 2+s.intn(3), pick)
	b.WriteString("</h1>\n<p>")
	sentence(&b, 30+s.intn(60), pick)
	b.WriteString("</p>\n")
	sections := 2 + s.intn(2)
	for i := range sections {
		t := topic
		if i > 0 {
			t = s.intn(len(w.topics))
		}
		b.WriteString("<h2>")
		sentence(&b, 2, pick)
		b.WriteString("</h2>\n<ul>\n")
		for range 5 + s.intn(8) {
			to := t
			if s.unit() < 0.15 {
				to = s.intn(len(w.topics))
			}
			w.item(&b, s, w.target(s, to), pick)
		}
		b.WriteString("</ul>\n")
	}
	w.foot(&b, s, id)
	return b.String()
}

// item writes a link with the leaves around it: at −2 and +2 words of the page, at −1 and +1
// words about the target where the web has cues there.
func (w *Web) item(b *strings.Builder, s *stream, l link, pick func() string) {
	leaf := [5]int{} // cue words at offsets −2 … +2
	switch w.c.Cues {
	case CuesPeaked:
		leaf = [5]int{0, 2, 0, 1, 0}
		if s.unit() < 0.3 {
			leaf[2] = 1
		}
	case CuesUniform:
		for range 3 {
			leaf[s.intn(5)]++
		}
	case CuesNone:
	}
	words := func(offset, n int) {
		cues := leaf[offset+2]
		for i := range n + cues {
			if i > 0 {
				b.WriteByte(' ')
			}
			if i < cues {
				// Half of the cues are words of the target's topic, half belong to links only.
				if s.unit() < 0.5 {
					b.WriteString(zipf(s, w.language.leaf[l.topic]))
				} else {
					b.WriteString(zipf(s, w.language.cue[l.topic]))
				}
			} else {
				b.WriteString(pick())
			}
		}
	}
	b.WriteString("<li><i>")
	words(-2, 2+s.intn(3))
	b.WriteString("</i> ")
	words(-1, 2+s.intn(4))
	b.WriteString(` <a href="` + l.url + `">`)
	if leaf[2] > 0 {
		words(0, 1)
	} else {
		b.WriteString(anchors[s.intn(len(anchors))])
	}
	b.WriteString("</a> ")
	words(1, 2+s.intn(4))
	b.WriteString(" <em>")
	words(2, 2+s.intn(3))
	b.WriteString("</em></li>\n")
}

func (w *Web) head(b *strings.Builder, s *stream, pick func() string) {
	b.WriteString("<!DOCTYPE html>\n<html lang=\"art\"><head><meta charset=\"utf-8\"><title>")
	sentence(b, 3+s.intn(4), pick)
	b.WriteString("</title></head><body>\n")
}

// navigation has the same words on every page of a host; its links lead anywhere.
func (w *Web) navigation(b *strings.Builder, s *stream, id uint64) {
	b.WriteString("<div id=\"nav\"><ul>")
	host := &stream{}
	for _, c := range []byte(w.hostOf(id)) {
		host.state = mix(host.state ^ uint64(c))
	}
	for range 3 {
		l := w.target(s, s.intn(len(w.topics)))
		b.WriteString("<li><a href=\"" + l.url + "\">" + zipf(host, w.language.background) + "</a></li>")
	}
	b.WriteString("</ul></div>\n")
}

func (w *Web) foot(b *strings.Builder, s *stream, id uint64) {
	l := w.target(s, s.intn(len(w.topics)))
	b.WriteString("<div id=\"foot\"><img alt=\"\" src=\"/x.gif\"> <a href=\"" + l.url + "\">" + anchors[s.intn(len(anchors))] + "</a></div>\n</body></html>\n")
}

func sentence(b *strings.Builder, n int, pick func() string) {
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(pick())
	}
}
