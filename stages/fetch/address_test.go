package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"forager/internal/crawl/turns"
	"forager/internal/platform/pipeline"
	"forager/internal/testkit/nameserver"
	"forager/internal/web/webclient"
	"forager/schemas"
)

// addresses is a web at several addresses of this machine, at one port; it logs each request with the address that it came to.
type addresses struct {
	mu   sync.Mutex
	log  []addressed
	port string
	dns  string
}

// serveAddresses starts web servers at the addresses that end so, and one of names; of returns the addresses of a name.
func serveAddresses(t *testing.T, of func(name string) [][4]byte, answer http.HandlerFunc, last ...byte) *addresses {
	t.Helper()
	a := &addresses{port: "0"}
	for _, n := range last {
		at := net.IPv4(127, 0, 7, n).String()
		l, err := net.Listen("tcp", net.JoinHostPort(at, a.port))
		if err != nil {
			t.Fatal(err)
		}
		_, a.port, _ = net.SplitHostPort(l.Addr().String())
		server := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			begin := time.Now()
			answer(w, r)
			a.mu.Lock()
			defer a.mu.Unlock()
			a.log = append(a.log, addressed{address: at, host: r.Host + r.URL.Path, begin: begin, end: time.Now()})
		})}}
		server.Start()
		t.Cleanup(server.Close)
	}
	a.dns = nameserver.Free(t)
	nameserver.StartNames(t, a.dns, of)
	return a
}

func (a *addresses) seen(limits *schemas.Politeness) []addressed {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := slices.Clone(a.log)
	for i := range all {
		all[i].limits = turns.LimitsOf(limits)
	}
	return all
}

// The log of the web servers has the last word: hosts that share addresses or networks, over partitions of several replicas, over
// kept connections and redirects of robots.txt to other hosts, are asked one at a time with the pause between.
func TestLimitsOfAddresses(t *testing.T) {
	for name, limits := range map[string]*schemas.Politeness{
		"address": {AddressDelayMs: 40}, "network": {NetworkDelayMs: 40}, "both": {AddressDelayMs: 70, NetworkDelayMs: 30},
	} {
		t.Run(name, func(t *testing.T) { limitsOfAddresses(t, limits) })
	}
}

func limitsOfAddresses(t *testing.T, limits *schemas.Politeness) {
	limits.UserAgent = "forager/1 (+mailto:x@a.test)"
	of := func(name string) [][4]byte {
		if strings.HasPrefix(name, "odd") {
			return [][4]byte{{127, 0, 7, 3}}
		}
		return [][4]byte{{127, 0, 7, 2}}
	}
	answer := func(w http.ResponseWriter, r *http.Request) {
		host, port, _ := net.SplitHostPort(r.Host)
		if r.URL.Path == "/robots.txt" && host == "even0.test" { // to another host at its address, and one elsewhere
			http.Redirect(w, r, "http://odd3.test:"+port+"/hop", http.StatusFound)
			return
		}
		if r.URL.Path == "/hop" && host == "odd3.test" {
			http.Redirect(w, r, "http://even2.test:"+port+"/rules", http.StatusFound)
			return
		}
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		page(w, r)
	}
	web := serveAddresses(t, of, answer, 2, 3)
	b := newBed(t, page)
	b.cfg.Stages.Fetch.Proxy, b.cfg.Stages.Fetch.Resolver = "", web.dns
	b.cfg.Stages.Fetch.AllowPrivate = pipeline.Hosts{"127.0.7.0/24"}
	b.run()
	b.run()
	var requests []*schemas.FetchRequest
	for i := range 6 {
		kind := []string{"even", "odd"}[i/3]
		for page := range 2 {
			r := b.request("limited", fmt.Sprintf("http://%s%d.test:%s/%d", kind, i, web.port, page), 1, 0)
			r.Politeness = limits
			requests = append(requests, r)
		}
	}
	b.send(requests...)
	for key, page := range b.fetched(len(requests)) {
		if page.Outcome != schemas.Outcome_OUTCOME_DELIVERED {
			t.Errorf("%s: %s %s", key, schemas.OutcomeName(page.Outcome), page.Detail)
		}
	}
	seen := web.seen(limits)
	for _, page := range []string{"/robots.txt", "/hop", "/rules", "/1"} {
		if !slices.ContainsFunc(seen, func(a addressed) bool { return strings.HasSuffix(a.host, page) }) {
			t.Errorf("%s was not asked for", page)
		}
	}
	checkAddresses(t, seen)
	partitions := map[int]bool{}
	for _, r := range b.read(schemas.TopicFetchRequested) {
		partitions[r.Partition] = true
	}
	if len(partitions) != 2 {
		t.Error("all hosts are in one partition: nothing was shared")
	}
}

// A host with several addresses is asked at one; another one is taken when that cannot be connected to, and a kept
// connection to the first is not used for the second.
func TestRoutesOfAHost(t *testing.T) {
	of := func(string) [][4]byte { return [][4]byte{{127, 0, 7, 2}, {127, 0, 7, 3}, {127, 0, 7, 4}} }
	web := serveAddresses(t, of, page, 2, 3)
	client, err := webclient.New(webclient.Settings{
		HeaderTimeout: 10 * time.Second, BodyTimeout: 10 * time.Second, Resolver: web.dns, AllowPrivate: []string{"127.0.7.0/24"}, Connections: 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	u, book := parse(t, "http://many.test:"+web.port+"/"), newAddressCache()
	tried := map[string]error{}
	for range 3 {
		r := book.of(t.Context(), client, u)
		for range 2 { // the second time over a kept connection
			answer, err := r.get(t.Context(), client, webclient.Request{URL: u, MaxBody: 1 << 10})
			if tried[r.address()] = err; err == nil && answer.IP != r.address() {
				t.Errorf("%s was asked, not %s", answer.IP, r.address())
			}
		}
		book.failed(r)
	}
	if len(tried) != 3 || tried["127.0.7.2"] != nil || tried["127.0.7.3"] != nil || tried["127.0.7.4"] == nil {
		t.Errorf("tried were %v", tried)
	}
	if again := book.of(t.Context(), client, u); len(tried) != 3 || tried[again.address()] != nil {
		t.Errorf("then %s", again.address())
	}
}
