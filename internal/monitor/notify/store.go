package notify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"forager/internal/monitor/view"
	"forager/internal/platform/objects"
)

// prefix is that of the stored states. As no object is overwritten, each has the number of the one before plus 1.
const prefix = "monitor/events/"

func keyOf(number uint64) string { return fmt.Sprintf("%s%020d.json", prefix, number) }

// state is what is stored across restarts.
type state struct {
	Crawls map[string]*crawl `json:"crawls"`
	// Next are the offsets of dead.letter that are read next, by partition.
	Next    map[int]int64        `json:"next"`
	Recent  []view.Event         `json:"recent"`
	Waiting map[string][]waiting `json:"waiting"` // by hook.key
}

// waiting is an event that waits for a receiver since a time.
type waiting struct {
	Event view.Event `json:"event"`
	Since time.Time  `json:"since"`
}

// begin loads the state. Without a stored one, the crawls that have finished so far and the dead letters so far are no events.
func (n *Notifier) begin(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	s := &state{Crawls: make(map[string]*crawl)}
	var err error
	if n.Sends {
		err = n.load(ctx, s)
	}
	n.quiet = s.Next == nil
	if n.quiet && err == nil {
		s.Next, err = n.ends(ctx)
	}
	if err != nil {
		return err
	}
	waits := s.Waiting
	s.Waiting = make(map[string][]waiting)
	for _, h := range n.hooks { // others are settings no more
		s.Waiting[h.key] = waits[h.key]
	}
	n.state, n.saveBy = s, time.Time{}
	n.Source.Announce(s.Recent)
	if n.quiet {
		n.crawls(now)
		n.quiet, n.saveBy = false, now
	}
	return nil
}

// newest returns the number of the newest stored state, 0 if there is none, and removes the earlier ones.
func (n *Notifier) newest(ctx context.Context) (number uint64, err error) {
	last := ""
	for o, err := range n.Store.List(ctx, prefix) {
		if err == nil && last != "" {
			err = n.Store.Delete(ctx, last)
		}
		if err != nil {
			return 0, err
		}
		last = o.Key
	}
	if last == "" {
		return 0, nil
	}
	if number, err = strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(last, prefix), ".json"), 10, 64); err != nil {
		err = fmt.Errorf("object %s is none of the monitor; remove it: %w", last, err)
	}
	return number, err
}

// load reads the newest stored state, if there is one.
func (n *Notifier) load(ctx context.Context, s *state) (err error) {
	if n.number, err = n.newest(ctx); err != nil || n.number == 0 {
		return err
	}
	b, err := n.Store.Get(ctx, keyOf(n.number))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, s); err != nil || s.Next == nil || s.Crawls == nil {
		return fmt.Errorf("object %s is damaged (remove it: which events were sent is then forgotten): %v", keyOf(n.number), err)
	}
	return nil
}

// save stores the state if that is due. If another process has stored one meanwhile, that process sends, and this one loads its state later.
func (n *Notifier) save(ctx context.Context, now time.Time) {
	if !n.Sends || n.state == nil || n.saveBy.IsZero() || now.Before(n.saveBy) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	number, err := n.newest(ctx)
	if err == nil && number != n.number {
		err = objects.ErrExists
	}
	b, invalid := json.Marshal(n.state)
	if err = cmp.Or(err, invalid); err == nil {
		err = n.Store.Put(ctx, keyOf(n.number+1), bytes.NewReader(b), int64(len(b)))
	}
	switch {
	case err == nil:
		n.saveBy = time.Time{}
		n.number++
	case errors.Is(err, objects.ErrExists):
		n.state, n.after = nil, now.Add(standby)
		n.Log.Warn("another process keeps the state of events: this one sends none for a while")
	default:
		n.saveBy = now.Add(every)
		n.warn("the state of events cannot be stored", err)
	}
}
