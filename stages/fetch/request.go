package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/turns"
	"forager/internal/platform/segment"
	"forager/internal/stream"
	"forager/internal/stream/runner"
	"forager/internal/web/httpresponse"
	"forager/internal/web/webclient"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// request is one fetch.requested until its page.fetched. It implements job.
type request struct {
	stage *stage
	ctx   context.Context
	raw   []byte // the FetchRequest as it came
	req   *schemas.FetchRequest
	url   weburl.URL
	// arrived is when it was read, began when its page was first requested.
	arrived time.Time
	// newConnection is set after a kept connection broke.
	newConnection bool
	// limits are those of the crawl on addresses; route is how to reach the next host, where it has some.
	limits turns.Limits
	route  *route
	// finish ends the record, once.
	finish func(outs []stream.Out, err error)
}

// newRequest decodes a record and checks the fields that the stage relies on.
func newRequest(r stream.Record) (*request, error) {
	req := &schemas.FetchRequest{}
	if err := proto.Unmarshal(r.Value, req); err != nil {
		return nil, fmt.Errorf("decode FetchRequest: %w", err)
	}
	id, err := schemas.ParseID(req.Id)
	if err != nil {
		return nil, fmt.Errorf("FetchRequest: %w", err)
	}
	if want := schemas.RequestID(req.Crawl, req.Url, req.Attempt); id != want {
		return nil, fmt.Errorf("FetchRequest: id %s is not that of crawl %q, attempt %d of %s", id, req.Crawl, req.Attempt, req.Url)
	}
	u, err := weburl.Parse(req.Url)
	if err != nil {
		return nil, fmt.Errorf("FetchRequest %s: url: %w", id, err)
	}
	switch {
	case u.String() != req.Url:
		return nil, fmt.Errorf("FetchRequest %s: url %s is not canonical, %s would be", id, req.Url, u)
	case u.Host() != req.Host:
		return nil, fmt.Errorf("FetchRequest %s: host %q is not that of %s", id, req.Host, u)
	case productToken(req.GetPoliteness().GetUserAgent()) == "":
		return nil, fmt.Errorf("FetchRequest %s: user_agent %q does not begin with a product token", id, req.GetPoliteness().GetUserAgent())
	}
	return &request{raw: r.Value, req: req, url: u, arrived: time.Now(), limits: turns.LimitsOf(req.GetPoliteness())}, nil
}

// productToken returns the name of a crawler in robots.txt (RFC 9309 §2.2.1): the beginning of the
// User-Agent.
func productToken(userAgent string) string {
	for i := range len(userAgent) {
		c := userAgent[i] | 0x20
		if (c < 'a' || c > 'z') && userAgent[i] != '-' && userAgent[i] != '_' {
			return userAgent[:i]
		}
	}
	return userAgent
}

// delay returns the pause that the crawl keeps on every host.
func (r *request) delay() time.Duration {
	return schemas.Pause(r.req.GetPoliteness())
}

func (r *request) calledOff() { r.finish(nil, runner.CalledOff) }

func (r *request) cancelled() {
	r.settle(&schemas.PageFetched{Outcome: schemas.Outcome_OUTCOME_CANCELLED, Detail: "the crawl was stopped"})
}

func (r *request) deferred(until time.Time, why string) {
	politeness := r.req.GetPoliteness()
	if !politeness.GetIgnoreRobots() && r.stage.robots.disallows(r.url, politeness.GetUserAgent()) {
		r.disallowed() // a later try would not change it
		return
	}
	r.settle(&schemas.PageFetched{Outcome: schemas.Outcome_OUTCOME_DEFERRED, Detail: why, NotBefore: millis(until)})
}

func (r *request) disallowed() {
	r.settle(&schemas.PageFetched{Outcome: schemas.Outcome_OUTCOME_ROBOTS_DISALLOWED, Detail: "robots.txt disallows it"})
}

// visit implements job.
func (r *request) visit(pause time.Duration, address string) report {
	if r.ctx.Err() != nil {
		r.calledOff()
		return report{}
	}
	if r.limits != (turns.Limits{}) && address == "" {
		// Of an error it becomes the result without a turn: nothing is sent.
		if r.route = r.locate(); r.route.err == nil {
			return report{again: true, address: r.route.address()}
		}
	}
	known := report{address: r.onward()}
	if !r.req.GetPoliteness().GetIgnoreRobots() {
		userAgent := r.req.GetPoliteness().GetUserAgent()
		ruling, asked, err := r.stage.robots.ruling(r.ctx, r.url, userAgent, r.newConnection, r.route)
		if errors.Is(err, errElsewhere) {
			return report{asked: asked, again: true}
		}
		if errors.Is(err, webclient.ErrHungUp) {
			return r.comeBack()
		}
		if err != nil {
			r.calledOff()
			return report{asked: asked}
		}
		known.asked = asked
		if ruling.outcome != schemas.Outcome_OUTCOME_UNSPECIFIED {
			if ruling.outcome == schemas.Outcome_OUTCOME_HOST_UNREACHABLE {
				r.stage.addresses.failed(r.route)
			}
			r.settle(&schemas.PageFetched{Outcome: ruling.outcome, Detail: ruling.detail, NotBefore: millis(ruling.notBefore)})
			return known
		}
		if ruling.file != nil {
			token := productToken(userAgent)
			if !ruling.file.Allowed(token, r.url.PathAndQuery()) {
				r.disallowed()
				return known
			}
			known.crawlDelay, _ = ruling.file.CrawlDelay(token)
		}
		if asked || known.crawlDelay > pause {
			known.again = true // after the pause
			return known
		}
	}
	if !r.route.leadsTo(r.url) {
		return report{again: true}
	}
	done := r.fetch()
	done.crawlDelay = known.crawlDelay
	return done
}

// comeBack repeats the request after the host's pause, once: a server that closed a kept connection
// has not refused the request, but may have seen it. The try is not counted.
func (r *request) comeBack() report {
	r.newConnection = true
	r.stage.metrics.hungUp.Inc()
	return report{asked: true, again: true, address: r.onward()}
}

// locate finds the address of the host that is asked next: that of the page, or one that robots.txt was redirected to.
func (r *request) locate() *route {
	target := r.url
	if !r.req.GetPoliteness().GetIgnoreRobots() {
		target = r.stage.robots.target(r.url)
	}
	return r.stage.addresses.of(r.ctx, r.stage.client, target)
}

// onward returns the address that the request for the page goes to, as far as it is known.
func (r *request) onward() string {
	if r.route == nil || r.route.err != nil || !r.route.leadsTo(r.url) {
		return ""
	}
	return r.route.address()
}

// fetch requests the page and settles the request, unless it has to be repeated.
func (r *request) fetch() report {
	began := time.Now()
	r.stage.metrics.wait.Observe(began.Sub(r.arrived).Seconds())
	got, err := r.route.get(r.ctx, r.stage.client, webclient.Request{
		URL: r.url, UserAgent: r.req.GetPoliteness().GetUserAgent(), MaxBody: r.stage.set.MaxBody,
		Want: want, Sniff: httpresponse.SniffLength, NewConnection: r.newConnection,
	})
	if errors.Is(err, webclient.ErrHungUp) {
		return r.comeBack()
	}
	took := time.Since(began)
	page := &schemas.PageFetched{FetchedAt: began.UnixMilli(), DurationMs: uint32(min(took.Milliseconds(), 1<<31))}
	var refused *webclient.RefusedError
	var away *unreachableError
	switch {
	case errors.As(err, &away):
		page.Outcome, page.Detail, page.NotBefore = away.outcome, away.Error(), millis(away.notBefore)
		r.stage.addresses.failed(r.route)
	case errors.As(err, &refused):
		page.Outcome, page.Detail = schemas.Outcome_OUTCOME_REFUSED, refused.Reason
		r.settle(page)
		return report{}
	case err != nil && r.ctx.Err() != nil:
		r.calledOff()
		return report{asked: true}
	case errors.Is(err, webclient.ErrTimeout):
		page.Outcome, page.Detail = schemas.Outcome_OUTCOME_TIMEOUT, err.Error()
		r.stage.schedule.timedOut(r.req.Host)
	case err != nil:
		page.Outcome, page.Detail = schemas.Outcome_OUTCOME_CONNECTION_FAILED, err.Error()
	default:
		r.stage.metrics.answer.Observe(took.Seconds())
		r.stage.metrics.bytes.Add(float64(len(got.Body)))
		r.answered(page, got, took)
	}
	if page.Outcome != schemas.Outcome_OUTCOME_DELIVERED {
		r.settle(page)
		return report{asked: true}
	}
	r.store(page, got, began)
	return report{asked: true}
}

// want reports whether to read a body: only those of pages are read.
func want(a *webclient.Response, start []byte) bool {
	contentType := a.Header.Get("Content-Type")
	if start == nil {
		return a.Status == http.StatusOK && httpresponse.MayBeHTML(contentType)
	}
	return httpresponse.HTML(contentType, start)
}

// answered sets the fields that follow from the response.
func (r *request) answered(page *schemas.PageFetched, got *webclient.Response, took time.Duration) {
	contentType := got.Header.Get("Content-Type")
	meaning := httpresponse.Of(r.url, got.Status, got.Header.Get("Location"), contentType, got.Body)
	if meaning.Outcome == schemas.Outcome_OUTCOME_DELIVERED && got.Body == nil {
		// want has rejected the first bytes.
		meaning = httpresponse.Meaning{Outcome: schemas.Outcome_OUTCOME_NOT_HTML, Detail: "the content is not that of a page"}
	}
	page.Status, page.ContentType = uint32(got.Status), text(contentType, 256)
	page.Outcome, page.Detail, page.Redirect = meaning.Outcome, meaning.Detail, meaning.Redirect
	if got.Status != http.StatusTooManyRequests && got.Status != http.StatusServiceUnavailable {
		r.stage.schedule.answered(r.req.Host, took)
		return
	}
	retryAfter, given := retryAfter(got.Header.Get("Retry-After"), time.Now())
	until, times := r.stage.schedule.refused(r.req.Host, retryAfter)
	page.NotBefore = millis(until)
	switch {
	case times > maxRefusals:
		// It is not deferred without end: from now on its tries are counted.
		page.Outcome = schemas.Outcome_OUTCOME_SERVER_ERROR
		page.Detail += fmt.Sprintf(", refusal %d in a row", times)
	case given || got.Status == http.StatusTooManyRequests:
		page.Outcome = schemas.Outcome_OUTCOME_DEFERRED
	}
}

// maxRefusals is the number of refusals of a host in a row that defer the request.
const maxRefusals = 6

// retryAfter reads the header: seconds or a date (RFC 9110 §10.2.3).
func retryAfter(value string, now time.Time) (time.Duration, bool) {
	if seconds, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now)), true
	}
	return 0, false
}

// store adds the page to a segment and settles the request when it is stored.
func (r *request) store(page *schemas.PageFetched, got *webclient.Response, began time.Time) {
	page.Size, page.Truncated = uint64(len(got.Body)), got.Truncated != ""
	// Not r.ctx: a page fetched while the partition is being revoked is still sent.
	err := r.stage.segments.Add(r.stage.storing, got.Page([16]byte(r.req.Id), r.req.Url, began), func(at segment.Location, err error) {
		if err != nil {
			r.abandoned(err)
			return
		}
		page.Object, page.Offset, page.Length, page.Digest = at.Object, uint64(at.Offset), uint64(at.Length), at.Digest
		stream.Failpoint("segment-before-record")
		r.settle(page)
	})
	if err != nil {
		r.abandoned(err)
	} else if r.ctx.Err() != nil {
		r.stage.segments.Flush() // store it at once: there is little time left
	}
}

// abandoned ends a request whose page could not be stored, because of a permanent error of the
// store or the end of the process.
func (r *request) abandoned(err error) {
	if r.ctx.Err() != nil || errors.Is(err, context.Canceled) {
		r.calledOff()
		return
	}
	r.finish(nil, stream.Broken(err))
}

// settle sends the page.fetched.
func (r *request) settle(page *schemas.PageFetched) {
	out, err := fetched(r.raw, r.req, page)
	if err == nil {
		r.stage.metrics.requests.WithLabelValues(schemas.OutcomeName(page.Outcome)).Inc()
	}
	r.finish([]stream.Out{out}, err)
}

// fetched returns the page.fetched of a request.
func fetched(raw []byte, req *schemas.FetchRequest, page *schemas.PageFetched) (stream.Out, error) {
	page.Request, page.Crawl, page.Id, page.Url = raw, req.Crawl, req.Id, req.Url
	page.Detail = text(page.Detail, 500)
	if page.FetchedAt == 0 {
		page.FetchedAt = time.Now().UnixMilli()
	}
	value, err := proto.Marshal(page)
	if err != nil {
		return stream.Out{}, fmt.Errorf("encode PageFetched of %s: %w", req.Url, err)
	}
	return stream.Out{Topic: schemas.TopicPageFetched, Partition: -1, Key: []byte(req.Host), Value: value, Headers: schemas.RequestHeaders(req)}, nil
}

// text returns s as one line of valid UTF-8, of at most limit bytes.
func text(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s) // also replaces what is not UTF-8
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "")
	}
	return s
}

// millis returns t in Unix milliseconds, rounded up, so that it is not before t; 0 for the zero
// time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Add(time.Millisecond - 1).UnixMilli()
}
