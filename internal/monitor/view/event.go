package view

import (
	"slices"
	"time"
)

// Event is something that has happened to a crawl, or to records of none. Its ID follows from what caused it.
type Event struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// Crawl is empty where it is not known.
	Crawl   string             `json:"crawl,omitempty"`
	Time    time.Time          `json:"time"`
	Text    string             `json:"text"`
	Link    string             `json:"link"`
	Figures map[string]float64 `json:"figures"`
}

// Announce replaces the events that are kept, in the order in which they happened, and notifies those who follow.
func (s *Source) Announce(events []Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = slices.Clone(events)
	s.notify()
}

// EventsAfter returns the events that are kept behind the one with an ID; all of them if it is not kept.
func (s *Source) EventsAfter(id string) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.events, func(e Event) bool { return e.ID == id })
	return slices.Clone(s.events[i+1:])
}

// Events returns the newest events that are kept, of a crawl or, without its name, of all that were not deleted, the newest first.
func (s *Source) Events(crawl string, most int) (newest []Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := append(s.Topics.Known(), "")
	for _, e := range slices.Backward(s.events) {
		if len(newest) < most && (e.Crawl == crawl || crawl == "" && slices.Contains(known, e.Crawl)) {
			newest = append(newest, e)
		}
	}
	return newest
}

// notify notifies those who wait for a change; the caller holds mu.
func (s *Source) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}
