package webclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"forager/internal/web/contentcoding"
	"forager/internal/web/warc"
	"forager/internal/web/webarchive"
	"forager/internal/web/weburl"
)

// ErrTimeout is the class of errors of a server that took too long.
var ErrTimeout = errors.New("no answer in time")

// ErrHungUp is the error of a connection kept from an earlier request that broke before the first byte of the
// response. Servers close connections that they have kept long enough, so most often the request was not read; but
// it may have been, so it must not be sent again before the host's pause is over. With Request.NewConnection it does not
// occur.
var ErrHungUp = errors.New("the server hung up before it answered")

// ErrMalformed is the class of errors of responses that are not HTTP, or not in the coding that they name. The
// next response will most often be the same; the server is reachable.
var ErrMalformed = errors.New("malformed answer")

// Settings of a Client.
type Settings struct {
	// HeaderTimeout is the time from the beginning of a request to the end of the response's header, look-up of
	// the name and connecting included.
	HeaderTimeout time.Duration
	// BodyTimeout is the time for the whole response.
	BodyTimeout time.Duration
	// Proxy is an HTTP proxy ("http://host:port") for every request; "" = none.
	Proxy string
	// Resolver is the DNS server (address:port) that looks up the hosts of URLs; "" = that of the machine. The names of
	// Own and of the proxy are looked up with that of the machine.
	Resolver string
	// AllowPrivate are networks ("10.1.0.0/16"), addresses and host names to which requests are permitted though
	// their addresses are not public. A host name permits that host, at any address except those of Own.
	AllowPrivate []string
	// Own are the services of the pipeline itself, to which no request is made.
	Own []Service
	// DialObserver watches connections that are made without a proxy; nil = none.
	DialObserver DialObserver
	// Connections kept open at most while not in use.
	Connections int
}

// Client makes requests to web servers. It is safe for concurrent use.
type Client struct {
	set       Settings
	guard     *guard
	transport *http.Transport
	proxy     *url.URL
	toProxy   *http.Transport // for absolute https URLs; nil without a proxy
	absolute  atomic.Bool     // the proxy accepts them
	names     *names          // of hosts that the proxy connects to

	probing         sync.Mutex
	probed, offline bool // the proxy has reported whether it is offline
}

const (
	maxHeader   = 256 << 10 // bytes of a response's header
	drainAtMost = 64 << 10  // bytes read of an unwanted body, to use the connection again
)

// New returns a client; it makes no connection yet.
func New(set Settings) (*Client, error) {
	g, err := newGuard(set.AllowPrivate, set.Own)
	if err != nil {
		return nil, err
	}
	resolver := Resolver(set.Resolver)
	c := &Client{set: set, guard: g, names: newNames(resolver)}
	dialer := &net.Dialer{Timeout: set.HeaderTimeout}
	if set.Proxy == "" {
		dialer.Resolver = resolver
		c.transport = newTransport(c.watched(g.dial(dialer, set.DialObserver)), set)
		return c, nil
	}
	c.transport = newTransport(c.watched(dialer.DialContext), set)
	proxy, err := url.Parse(set.Proxy)
	if err != nil || proxy.Scheme != "http" && proxy.Scheme != "https" || proxy.Host == "" {
		return nil, fmt.Errorf("proxy %q is not http://host:port", set.Proxy)
	}
	c.proxy = proxy
	c.toProxy = newTransport(c.watched(dialer.DialContext), set)
	c.transport.Proxy = http.ProxyURL(proxy)
	c.transport.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, r *http.Response) error {
		if r.StatusCode != http.StatusOK && r.Header.Get(webarchive.AbsoluteFormHeader) == "https" {
			return errAbsoluteForm
		}
		return nil
	}
	return c, nil
}

var errAbsoluteForm = errors.New("the proxy takes https URLs in absolute form only")

func newTransport(dial dialFunc, set Settings) *http.Transport {
	perHost := 2
	if set.Proxy != "" {
		perHost = set.Connections
	}
	return &http.Transport{
		DialContext:            dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    set.HeaderTimeout,
		DisableCompression:     true, // codings are decoded here, within limits
		MaxIdleConns:           set.Connections,
		MaxIdleConnsPerHost:    perHost,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		WriteBufferSize:        4 << 10,
		ReadBufferSize:         16 << 10,
	}
}

// Close closes idle connections.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	if c.toProxy != nil {
		c.toProxy.CloseIdleConnections()
	}
}

// Request is one GET.
type Request struct {
	URL       weburl.URL
	UserAgent string
	// Accept header; "" = pages.
	Accept string
	// MaxBody is the size at which the decoded body is cut, bytes.
	MaxBody int64
	// Want reports, by the response without its body and the first bytes of the decoded body (at most Sniff),
	// whether to read the body; nil = always. It is called first without bytes and, if it returns true, again with
	// them.
	Want  func(a *Response, start []byte) bool
	Sniff int
	// NewConnection uses no connection that was kept.
	NewConnection bool
	// Address is the only one that the request may go to, also over a connection that was kept; invalid = any of the host.
	// ErrHungUp is returned where a connection to another one had to be closed.
	Address netip.Addr
}

// Response is a response.
type Response struct {
	Status int
	Reason string
	// Header sorted by name.
	Header warc.Header
	// Body after transfer and content decoding; nil if Want returned false.
	Body []byte
	// Truncated is what cut the body, as in WARC-Truncated; empty = it is whole.
	Truncated string
	// Protocol as in WARC-Protocol: "http/1.0", "http/1.1", "h2".
	Protocol string
	// IP is the address of the server; "" behind a proxy.
	IP string
}

// Values of Response.Truncated: the body was longer than MaxBody; the server closed the connection before it had
// sent as many bytes as Content-Length announces.
const (
	CutByLength     = "length"
	CutByDisconnect = "disconnect"
)

// Page returns the response as it is stored: id is the request's, url its URL, began its time.
func (a *Response) Page(id [16]byte, url string, began time.Time) *warc.Page {
	return &warc.Page{
		ID: id, URL: url, Date: began, IP: a.IP, Protocol: a.Protocol,
		Status: a.Status, Reason: a.Reason, Header: a.Header, Body: a.Body, Truncated: a.Truncated,
	}
}

const acceptPages = "text/html,application/xhtml+xml,*/*;q=0.5"

// Get makes the request. The end of ctx ends it until the header has arrived; from then on only the limits apply.
// Errors: *RefusedError (no request was permitted), *UnreachableError (no connection was made), ErrTimeout,
// ErrHungUp, ErrMalformed, the error of ctx; any other is a connection, TLS or HTTP that failed. If the body could
// not be read to its end, the response with as much as could be read is returned with the error.
func (c *Client) Get(ctx context.Context, r Request) (*Response, error) {
	if err := checkPort(r.URL); err != nil {
		return nil, err
	}
	if err := c.guard.checkURL(ctx, r.URL); err != nil {
		return nil, err
	}
	if c.proxy != nil {
		if err := c.checkProxied(ctx, r.URL); err != nil {
			return nil, err
		}
	}
	answer, err := c.get(ctx, r)
	if errors.Is(err, errAbsoluteForm) {
		c.absolute.Store(true)
		answer, err = c.get(ctx, r)
	}
	return answer, err
}

func (c *Client) get(outer context.Context, r Request) (*Response, error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(outer))
	defer cancel(nil)
	called := context.AfterFunc(outer, func() { cancel(outer.Err()) })
	defer called()
	whole := time.AfterFunc(c.set.BodyTimeout, func() { cancel(fmt.Errorf("%w: nothing whole after %v", ErrTimeout, c.set.BodyTimeout)) })
	defer whole.Stop()
	header := time.AfterFunc(c.set.HeaderTimeout, func() { cancel(fmt.Errorf("%w: no header after %v", ErrTimeout, c.set.HeaderTimeout)) })
	defer header.Stop()

	answer := &Response{}
	var sent, answered, connected, passed atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotFirstResponseByte: func() { answered.Store(true) },
		// Written is what is in a buffer. That of a rejected connection is never flushed.
		WroteRequest: func(info httptrace.WroteRequestInfo) { sent.Store(sent.Load() || info.Err == nil && !passed.Load()) },
		ConnectDone:  func(_, _ string, err error) { connected.Store(connected.Load() || err == nil) },
		GotConn: func(info httptrace.GotConnInfo) {
			connected.Store(true)
			switch {
			case r.Address.IsValid() && c.proxy == nil && addrPort(info.Conn.RemoteAddr()).Addr() != r.Address:
				if info.Conn.Close(); !info.Reused || sent.Load() || multiplexed(info.Conn) {
					cancel(ErrHungUp)
					return
				}
				passed.Store(true)
				return
			case multiplexed(info.Conn):
			case sent.Load():
				cancel(ErrHungUp)
				info.Conn.Close()
				return
			case r.NewConnection && info.Reused:
				passed.Store(true)
				info.Conn.Close() // nothing is sent on it, so that the transport takes the next one
				return
			}
			passed.Store(false)
			if c.proxy != nil {
				return
			}
			if host, _, err := net.SplitHostPort(info.Conn.RemoteAddr().String()); err == nil {
				answer.IP = host
			}
		},
	})
	request, transport, err := c.request(pinned(traced, r.Address), r)
	if err != nil {
		return nil, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		err = failure(ctx, malformed(err, answered.Load()))
		var known *UnreachableError
		if errors.Is(err, ErrTimeout) && !connected.Load() && !errors.As(err, &known) {
			err = &UnreachableError{What: c.nearest(), Err: err}
		}
		if errors.As(err, &known) && known.What == WhatHost && c.otherPort(outer, r) {
			return nil, fmt.Errorf("its port cannot be connected to, another one of the host can: %w", known.Err)
		}
		return nil, err
	}
	defer response.Body.Close()
	called()
	header.Stop()

	answer.Status, answer.Reason = response.StatusCode, reason(response)
	answer.Header, answer.Protocol = sortedHeader(response.Header), protocol(response)
	if err := readBody(answer, r, response); err != nil {
		return answer, failure(ctx, err)
	}
	return answer, nil
}

// nearest returns what a request without a connection has waited for.
func (c *Client) nearest() What {
	if c.proxy != nil {
		return WhatProxy
	}
	return WhatHost
}

// malformed adds ErrMalformed to an error of reading a response, unless it is one of the connection.
func malformed(err error, came bool) error {
	var network net.Error
	var system syscall.Errno
	if !came || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network) || errors.As(err, &system) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrMalformed, err)
}

// source is a body before its codings are decoded.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (n int, err error) {
	n, s.err = s.Reader.Read(p)
	return n, s.err
}

// multiplexed reports whether the connection uses HTTP/2, under which only requests are sent again that the server
// reports as not processed; others are under way on it.
func multiplexed(c net.Conn) bool {
	t, ok := c.(*tls.Conn)
	return ok && t.ConnectionState().NegotiatedProtocol == "h2"
}

func (c *Client) request(ctx context.Context, r Request) (*http.Request, *http.Transport, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL.String(), nil)
	if err != nil {
		return nil, nil, &RefusedError{fmt.Sprintf("not a URL to ask for: %v", err)}
	}
	accept := r.Accept
	if accept == "" {
		accept = acceptPages
	}
	request.Header = http.Header{"User-Agent": {r.UserAgent}, "Accept": {accept}, "Accept-Encoding": {contentcoding.Accept}}
	if c.proxy == nil || r.URL.Scheme() == "http" || !c.absolute.Load() {
		return request, c.transport, nil
	}
	request.Host = r.URL.Host()
	request.URL = &url.URL{Scheme: c.proxy.Scheme, Host: c.proxy.Host, Opaque: r.URL.String()}
	return request, c.toProxy, nil
}

// failure returns the error of a request: the reason why it was ended, if it was, or else its own.
func failure(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var refused *RefusedError
	if errors.As(err, &refused) {
		return refused
	}
	var netErr net.Error
	if errors.As(err, &netErr) && netErr.Timeout() {
		return fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	return err
}

// readBody reads the body as far as it is wanted and permitted.
func readBody(answer *Response, r Request, response *http.Response) error {
	if r.Want != nil && !r.Want(answer, nil) {
		drain(response)
		return nil
	}
	// Compressed bytes are bounded too: there are streams that never decode to anything.
	raw := &source{Reader: io.LimitReader(response.Body, r.MaxBody+drainAtMost)}
	err := decode(answer, r, response, raw)
	if err != nil && raw.err == io.ErrUnexpectedEOF && response.ProtoMajor == 1 && response.ContentLength > 0 && len(answer.Body) > 0 {
		answer.Truncated = CutByDisconnect
		return nil
	}
	if err != nil && (raw.err == nil || raw.err == io.EOF) {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return malformed(err, err != nil && response.ProtoMajor == 1)
}

// decode decodes the codings of raw.
func decode(answer *Response, r Request, response *http.Response, raw io.Reader) error {
	decoded, err := contentcoding.NewReader(raw, strings.Join(response.Header.Values("Content-Encoding"), ","))
	if err != nil {
		return err
	}
	defer decoded.Close()
	body := make([]byte, 0, max(512, min(response.ContentLength, r.MaxBody, 1<<20)+1))
	if r.Want != nil && r.Sniff > 0 {
		if body, err = readTo(r.Sniff, body, decoded); err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		if !r.Want(answer, body[:min(len(body), r.Sniff)]) {
			drain(response)
			return nil
		}
	}
	if err == nil {
		body, err = readTo(int(r.MaxBody)+1, body, decoded)
	}
	if int64(len(body)) > r.MaxBody {
		body, answer.Truncated = body[:r.MaxBody], CutByLength
	}
	if answer.Body = body; err == io.EOF {
		return nil
	}
	return err
}

// readTo reads from r until b has at least n bytes, more if a read returned them.
func readTo(n int, b []byte, r io.Reader) ([]byte, error) {
	for len(b) < n {
		if len(b) == cap(b) {
			b = slices.Grow(b, max(512, len(b)/2))
		}
		k, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+k]
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// drain reads the rest of a small body, so that the connection can be used again.
func drain(response *http.Response) {
	if response.ContentLength > drainAtMost {
		return
	}
	_, _ = io.CopyN(io.Discard, response.Body, drainAtMost+1)
}

func reason(response *http.Response) string {
	_, words, _ := strings.Cut(response.Status, " ")
	if words == "" {
		words = http.StatusText(response.StatusCode)
	}
	return words
}

func protocol(response *http.Response) string {
	switch {
	case response.ProtoMajor == 2:
		return "h2"
	case response.ProtoMinor == 0:
		return "http/1.0"
	}
	return "http/1.1"
}

func sortedHeader(h http.Header) warc.Header {
	sorted := make(warc.Header, 0, len(h))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			sorted = append(sorted, warc.Field{Name: name, Value: value})
		}
	}
	return sorted
}
