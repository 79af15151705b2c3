package operate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forager/internal/classify/taxonomy"
	"forager/internal/frontier"
	"forager/schemas"
)

// A crawl stagnates if the pages around the relevant ones are about other topics by its critic. The remedy of the paper of 1999 is to mark
// one of these good, as a rule the parent of the focus topic: pages about mutual funds are found by way of those about investment in general.

// Rejection is a topic with the number of pages about it, or about what is below it, that were among those rejected last.
type Rejection struct {
	Topic string `json:"topic"`
	Pages uint64 `json:"pages"`
}

// mostMarks is the number of topics that are offered.
const mostMarks = 4

// stagnation adds what was rejected to the state of a crawl whose gate holds back what is left.
func (x *Summary) stagnation(ctl *schemas.CrawlControl, st *schemas.CrawlStatus) {
	if st.GetEndReason() != frontier.EndStagnated && (x.Main == nil || x.Main.kind != schemas.WaitCause_WAIT_CAUSE_GATE) {
		return
	}
	marks := make(map[string]uint64)
	for topic, pages := range st.GetRejected() {
		for near := range nearFocus(ctl, topic) {
			marks[near] += pages
		}
	}
	x.Rejected, x.Marks = rejections(st.GetRejected()), rejections(marks)
	x.Marks = x.Marks[:min(mostMarks, len(x.Marks))]
}

// nearFocus are the parents and siblings of focus topics that a rejected topic is, or is below.
func nearFocus(ctl *schemas.CrawlControl, topic string) map[string]bool {
	near, below := make(map[string]bool), func(other string) bool { return taxonomy.Within(topic, other) }
	// It may be below a focus topic that was marked since.
	if slices.ContainsFunc(slices.Concat(ctl.GetFocus(), ctl.GetBad(), ctl.GetForms()), below) {
		return near
	}
	for _, f := range ctl.GetFocus() {
		end := max(0, strings.LastIndexByte(f, '/')) // of the parent, which may be the root
		if end > 0 && !below(f[:end]) {
			continue
		}
		if end > 0 {
			near[f[:end]] = true
			end++
		}
		if first, _, _ := strings.Cut(topic[min(end, len(topic)):], "/"); first != "" && first != taxonomy.Other {
			near[topic[:end]+first] = true
		}
	}
	return near
}

// rejections are topics by their pages.
func rejections(pages map[string]uint64) (list []Rejection) {
	for topic, n := range pages {
		list = append(list, Rejection{topic, n})
	}
	slices.SortFunc(list, func(a, b Rejection) int { return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.Topic, b.Topic)) })
	return list
}

// offer describes what was rejected, and what may be marked; empty if that is not shown.
func (x *Summary) offer() string {
	words := func(list []Rejection) string {
		var parts []string
		for _, r := range list[:min(mostMarks, len(list))] {
			parts = append(parts, fmt.Sprintf("%s (%d)", r.Topic, r.Pages))
		}
		return strings.Join(parts, ", ")
	}
	if len(x.Rejected) == 0 {
		return ""
	}
	text := "; the last pages were rejected as " + words(x.Rejected)
	if len(x.Marks) == 0 {
		return text
	}
	how := fmt.Sprintf("forager crawl focus %s --good TOPIC", x.Crawl)
	if x.State == "finished" {
		how += fmt.Sprintf(", then forager crawl resume %s with seeds", x.Crawl)
	}
	return fmt.Sprintf("%s; topics near the focus to mark good: %s (%s)", text, words(x.Marks), how)
}
