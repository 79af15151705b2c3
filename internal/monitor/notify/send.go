package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"forager/internal/monitor/view"
	"forager/internal/platform/pipeline"
)

const (
	// within bounds a request with its response.
	within = 10 * time.Second
	// A receiver is tried again after firstPause, which doubles with every failure up to lastPause.
	firstPause, lastPause = time.Second, 10 * time.Minute
	// perRound is the number of events that are sent before it is stored that they were.
	perRound = 16
)

// client follows no redirect, uses no proxy of the environment and keeps no connection.
var client = &http.Client{
	Timeout:       within,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 16 << 10},
}

// hook is a receiver.
type hook struct {
	pipeline.Webhook
	number int    // among the settings, from 1
	key    string // of state.Waiting: a digest of the URL, and which of those with it

	busy  bool
	pause time.Duration
	due   time.Time
}

// result is what became of some events.
type result struct {
	hook      *hook
	delivered []string // IDs
	err       error
}

func hooksOf(list pipeline.Webhooks) (hooks []*hook) {
	same := make(map[string]int)
	for i, w := range list {
		digest := sha256.Sum256([]byte(w.URL))
		same[w.URL]++
		hooks = append(hooks, &hook{Webhook: w, number: i + 1, key: fmt.Sprintf("%x-%d", digest[:8], same[w.URL])})
	}
	return hooks
}

// send begins to send the events that wait for a receiver, if it is due.
func (n *Notifier) send(ctx context.Context, h *hook, now time.Time) {
	if !n.Sends || n.state == nil || h.busy || now.Before(h.due) {
		return
	}
	n.drop(h, now)
	list := slices.Clone(n.state.Waiting[h.key])
	if len(list) == 0 {
		return
	}
	h.busy = true
	n.wg.Go(func() {
		r := result{hook: h}
		for _, w := range list[:min(perRound, len(list))] {
			if r.err = h.post(ctx, &w.Event); r.err != nil {
				break
			}
			r.delivered = append(r.delivered, w.Event.ID)
		}
		n.sent <- r
	})
}

// take notes what became of events.
func (n *Notifier) take(r result, now time.Time) {
	h := r.hook
	h.busy = false
	for range r.delivered {
		n.Count(h.number, "delivered")
	}
	if len(r.delivered) > 0 {
		h.pause = 0
	}
	if n.state != nil && len(r.delivered) > 0 {
		n.state.Waiting[h.key] = slices.DeleteFunc(n.state.Waiting[h.key], func(w waiting) bool { return slices.Contains(r.delivered, w.Event.ID) })
		n.saveBy = now
	}
	if r.err != nil {
		n.Count(h.number, "failed")
		h.pause = min(max(2*h.pause, firstPause), lastPause)
		h.due = now.Add(h.pause)
		n.Log.Warn("webhook failed", "webhook", h.number, "host", h.Host(), "error", short(r.err.Error()), "next_try_in", h.pause)
	}
}

// post sends an event.
func (h *hook) post(ctx context.Context, e *view.Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	key, err := h.Key()
	if err != nil {
		return err
	}
	header := http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {e.ID}}
	if key != "" {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write(body)
		header.Set("Forager-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	status, err := call(ctx, http.MethodPost, h.URL, header, body)
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("the receiver responds with %d %s", status, http.StatusText(status))
	}
	return err
}

// Probe reports why the receiver of a number cannot be sent events: its secret cannot be read, or it does not respond to a request with
// the method HEAD.
func Probe(ctx context.Context, number int, w *pipeline.Webhook) error {
	_, err := w.Key()
	if err == nil {
		_, err = call(ctx, http.MethodHead, w.URL, make(http.Header), nil)
	}
	if err != nil {
		return fmt.Errorf("number %d at %s: %s", number, w.Host(), short(err.Error()))
	}
	return nil
}

// call returns the status of a response, and reads nothing behind its header. Errors do not name the URL.
func call(ctx context.Context, method, address string, header http.Header, body []byte) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("its URL is none")
	}
	req.Header = header
	req.Header.Set("User-Agent", "Forager")
	resp, err := client.Do(req)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err
		}
		return 0, err
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}
