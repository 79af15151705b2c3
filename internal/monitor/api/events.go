package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"forager/internal/monitor/view"
)

const (
	// maxStreams is the number of clients that may follow events.
	maxStreams = 64
	// pause between two events, beat between two comments that keep the connection open, and the time for writing one.
	pause, beat, writeWithin = time.Second, 15 * time.Second, 20 * time.Second
)

var streams atomic.Int64

// events sends the events that are kept, or those behind Last-Event-ID, and later ones; and the states of all crawls, at once and whenever
// a record about them was read. It sends at most once a second.
func events(w http.ResponseWriter, r *http.Request, s *view.Source) {
	if streams.Add(1) > maxStreams {
		streams.Add(-1)
		http.Error(w, "too many clients follow events", http.StatusServiceUnavailable)
		return
	}
	defer streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	last := r.Header.Get("Last-Event-ID")
	for {
		next := s.Changed()
		var text strings.Builder
		for _, e := range s.EventsAfter(last) {
			data, err := json.Marshal(e)
			if err != nil {
				return
			}
			fmt.Fprintf(&text, "id: %s\nevent: %s\ndata: %s\n\n", e.ID, e.Kind, data)
			last = e.ID
		}
		data, err := json.Marshal(s.Crawls())
		if err != nil {
			return
		}
		fmt.Fprintf(&text, "event: crawls\ndata: %s\n\n", data)
		if !write(w, control, text.String()) || !wait(r, time.After(pause)) {
			return
		}
		for waiting := true; waiting; {
			select {
			case <-next:
				waiting = false
			case <-r.Context().Done():
				return
			case <-time.After(beat):
				if !write(w, control, ": \n\n") {
					return
				}
			}
		}
	}
}

func wait(r *http.Request, until <-chan time.Time) bool {
	select {
	case <-until:
		return true
	case <-r.Context().Done():
		return false
	}
}

func write(w http.ResponseWriter, control *http.ResponseController, text string) bool {
	if control.SetWriteDeadline(time.Now().Add(writeWithin)) != nil {
		return false
	}
	_, err := w.Write([]byte(text))
	return err == nil && control.Flush() == nil
}
