package main

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"forager/internal/web/robots"
	"forager/internal/web/webclient"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// getter makes requests to web servers; *webclient.Client implements it.
type getter interface {
	Get(ctx context.Context, r webclient.Request) (*webclient.Response, error)
	// Addresses returns those of a URL's host, the best first; none if a proxy connects to them.
	Addresses(ctx context.Context, u weburl.URL) ([]netip.Addr, error)
}

// ruling is the result of the robots.txt of one origin (scheme, host and port, RFC 9309 §2.3).
type ruling struct {
	// file is the parsed robots.txt; nil = everything is allowed. Not to be used if outcome is set.
	file *robots.File
	// outcome of every request to the origin while its robots.txt is unavailable, the reason, and
	// when it will be requested again; OUTCOME_UNSPECIFIED otherwise.
	outcome   schemas.Outcome
	detail    string
	notBefore time.Time
}

// robotsCache keeps the robots.txt of origins.
//
// By the response (RFC 9309 §2.3.1): 2xx is read. 4xx, a redirect without a target or a sixth one: everything is
// allowed. 5xx, 429 and timeouts: nothing is allowed for a while that doubles with each failure, and requests are
// deferred; after maxFailures in a row they are disallowed. If no connection can be made, requests fail as their pages
// would. A response that is not HTTP, or not in the coding that it names, is read as far as possible; so is one that
// was truncated maxFailures times. While a robots.txt is unavailable, an older one remains in force (§2.4).
type robotsCache struct {
	client getter
	ttl    time.Duration
	count  func(result string)

	mu      sync.Mutex
	origins map[string]*list.Element // of *origin
	recent  list.List                // the most recently used first
	bytes   int64                    // of the files kept
}

type origin struct {
	name     string
	asking   sync.Mutex // held while the file is requested
	ruling   ruling
	until    time.Time // end of the ruling's validity; zero = there is none yet
	failures int
	size     int64
	// next is the request after a redirect that needs a turn of its own; nil = the first one.
	next *hop
}

// hop is a request for robots.txt after some redirects.
type hop struct {
	at     weburl.URL
	number int
	last   *webclient.Response // which redirected
}

const (
	maxFailures    = 5
	firstRetry     = 30 * time.Second
	lastRetry      = time.Hour
	robotsHops     = 5 // RFC 9309 §2.3.1.2
	originOverhead = 1 << 10
	// keepRobots bounds the bytes of robots.txt files kept in memory.
	keepRobots = 256 << 20
)

func newRobotsCache(client getter, ttl time.Duration, count func(string)) *robotsCache {
	return &robotsCache{client: client, ttl: ttl, count: count, origins: map[string]*list.Element{}}
}

// ruling returns the ruling for a URL. asked: the host's robots.txt was requested, over a new connection
// if newConnection is true, and by the route, which is for one request. The error is that of ctx, webclient.ErrHungUp or
// errElsewhere; then there is no ruling.
func (b *robotsCache) ruling(ctx context.Context, u weburl.URL, userAgent string, newConnection bool, by *route) (r ruling, asked bool, err error) {
	o := b.origin(u.Scheme() + "://" + u.Host())
	o.asking.Lock()
	defer o.asking.Unlock()
	if time.Now().Before(o.until) {
		return o.ruling, false, nil
	}
	answer, asked, err := b.ask(ctx, o, u, userAgent, newConnection, by)
	switch {
	case errors.Is(err, errElsewhere):
		return ruling{}, asked, err
	case err != nil && ctx.Err() != nil:
		return ruling{}, true, ctx.Err()
	case errors.Is(err, webclient.ErrHungUp):
		return ruling{}, true, err
	}
	var refused *webclient.RefusedError
	asked = asked && !errors.As(err, &refused)
	o.next = nil
	var away *unreachableError
	if errors.As(err, &away) { // there is no ruling, and none is stored
		return ruling{outcome: away.outcome, detail: away.Error(), notBefore: away.notBefore}, asked, nil
	}
	b.judge(o, answer, err)
	return o.ruling, asked, nil
}

// disallows reports whether robots.txt is known and disallows the URL. It makes no request and does
// not block.
func (b *robotsCache) disallows(u weburl.URL, userAgent string) bool {
	o := b.origin(u.Scheme() + "://" + u.Host())
	if !o.asking.TryLock() {
		return false
	}
	defer o.asking.Unlock()
	return time.Now().Before(o.until) && o.ruling.file != nil && !o.ruling.file.Allowed(productToken(userAgent), u.PathAndQuery())
}

// origin returns the entry, which is added if it is missing, and drops the least recently used
// ones.
func (b *robotsCache) origin(name string) *origin {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := b.origins[name]; ok {
		b.recent.MoveToFront(e)
		return e.Value.(*origin)
	}
	o := &origin{name: name}
	b.origins[name] = b.recent.PushFront(o)
	b.bytes += originOverhead
	for b.bytes > keepRobots && b.recent.Len() > 1 {
		last := b.recent.Remove(b.recent.Back()).(*origin)
		delete(b.origins, last.name)
		b.bytes -= originOverhead + last.size
	}
	return o
}

// target returns the URL whose host is asked next for the sake of a URL: by a redirect of its robots.txt, or itself.
func (b *robotsCache) target(u weburl.URL) weburl.URL {
	o := b.origin(u.Scheme() + "://" + u.Host())
	o.asking.Lock()
	defer o.asking.Unlock()
	if o.next == nil || time.Now().Before(o.until) {
		return u
	}
	return o.next.at
}

// ask requests robots.txt and follows its redirects, also to other hosts (§2.3.1.2), at once: the
// pauses of these hosts are not kept. With a route it makes one request, if that is to the route's host, and leaves the next one to
// another call (errElsewhere).
func (b *robotsCache) ask(ctx context.Context, o *origin, u weburl.URL, userAgent string, newConnection bool, by *route) (answer *webclient.Response, asked bool, err error) {
	next := o.next
	if next == nil || by == nil {
		at, err := weburl.NewBase(u).Resolve("/robots.txt")
		if err != nil {
			return nil, false, err
		}
		next = &hop{at: at}
	}
	for {
		if by != nil && (asked || !by.leadsTo(next.at)) {
			o.next = next
			return nil, asked, errElsewhere
		}
		answer, err := by.get(ctx, b.client, webclient.Request{
			URL: next.at, UserAgent: userAgent, Accept: "text/plain,*/*;q=0.5", MaxBody: robots.MaxSize, NewConnection: newConnection,
			Want: func(a *webclient.Response, _ []byte) bool { return a.Status >= 200 && a.Status < 300 },
		})
		asked = by == nil || by.err == nil
		var away *unreachableError
		var refused *webclient.RefusedError
		switch {
		case next.number > 0 && errors.As(err, &away) && away.outcome == schemas.Outcome_OUTCOME_HOST_UNREACHABLE:
			return nil, asked, fmt.Errorf("robots.txt: redirect to %s: %v", next.at, err) // another host is down, not this one
		case next.number > 0 && (errors.As(err, &refused) || errors.Is(err, webclient.ErrMalformed)):
			return next.last, asked, nil // a redirect to nowhere
		case err != nil:
			return answer, asked, fmt.Errorf("robots.txt: %w", err)
		}
		location := answer.Header.Get("Location")
		if answer.Status < 300 || answer.Status >= 400 || location == "" || next.number == robotsHops {
			return answer, asked, nil
		}
		at, err := weburl.NewBase(next.at).Resolve(location)
		if err != nil {
			return answer, asked, nil // a redirect to nowhere
		}
		next = &hop{at, next.number + 1, answer}
	}
}

// read sets the ruling of a file.
func (b *robotsCache) read(o *origin, body []byte) {
	file := robots.Parse(body)
	b.mu.Lock()
	b.bytes += int64(file.Size()) - o.size
	o.size = int64(file.Size())
	b.mu.Unlock()
	o.ruling = ruling{file: file}
}

// damaged sets the ruling of a response that cannot be read to its end, also not in another try: the server works,
// so its pages are not given up. An older file remains in force; otherwise the complete lines that were read are.
func (b *robotsCache) damaged(o *origin, answer *webclient.Response) {
	had := !o.until.IsZero() && o.ruling.outcome == schemas.Outcome_OUTCOME_UNSPECIFIED
	o.until, o.failures = time.Now().Add(min(b.ttl, lastRetry)), 0
	b.count("damaged")
	if had {
		return
	}
	var body []byte
	if answer != nil && answer.Status >= 200 && answer.Status < 300 {
		body = answer.Body[:bytes.LastIndexAny(answer.Body, "\r\n")+1]
	}
	b.read(o, body)
}

var errCut = errors.New("the connection was closed before the end of the file")

// judge sets the ruling of a response.
func (b *robotsCache) judge(o *origin, answer *webclient.Response, err error) {
	now := time.Now()
	var failed schemas.Outcome
	var detail string
	var refused *webclient.RefusedError
	if err == nil && answer.Truncated == webclient.CutByDisconnect {
		err = errCut // a rule may be missing, or half of one
	}
	switch {
	case errors.As(err, &refused):
		o.ruling = ruling{outcome: schemas.Outcome_OUTCOME_REFUSED, detail: refused.Reason}
		o.until = now.Add(firstRetry)
		b.count("refused")
		return
	case errors.Is(err, webclient.ErrTimeout):
		failed, detail = schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE, err.Error()
	case errors.Is(err, webclient.ErrMalformed), err != nil && answer != nil && o.failures >= maxFailures:
		b.damaged(o, answer)
		return
	case err != nil && answer != nil:
		failed, detail = schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE, err.Error()
	case err != nil:
		failed, detail = schemas.Outcome_OUTCOME_CONNECTION_FAILED, err.Error()
	case answer.Status >= 200 && answer.Status < 300:
		o.until, o.failures = now.Add(b.ttl), 0
		b.read(o, answer.Body)
		b.count("read")
		return
	case answer.Status >= 300 && answer.Status < 500 && answer.Status != http.StatusTooManyRequests:
		o.ruling, o.until, o.failures = ruling{}, now.Add(b.ttl), 0
		b.count("none")
		return
	default:
		failed, detail = schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE, fmt.Sprintf("robots.txt: status %d", answer.Status)
	}
	b.count("unreachable")
	had := !o.until.IsZero() && o.ruling.outcome == schemas.Outcome_OUTCOME_UNSPECIFIED
	o.failures++
	o.until = now.Add(min(firstRetry<<min(o.failures-1, 16), lastRetry))
	if had {
		return // the older one remains in force
	}
	if failed == schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE && o.failures > maxFailures {
		failed, detail = schemas.Outcome_OUTCOME_ROBOTS_DISALLOWED, fmt.Sprintf("%s, %d times in a row", detail, o.failures)
	}
	o.ruling = ruling{outcome: failed, detail: detail, notBefore: o.until}
}
