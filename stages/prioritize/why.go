package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	frontierstate "forager/internal/frontier/state"
	"forager/internal/frontier/why"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/stream/state"
	"forager/internal/web/scope"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// explainer answers questions about URLs from snapshots of the stores of the process's partitions, so that no step waits for an
// answer. It is safe for concurrent use.
type explainer struct {
	book       *cache
	partitions int
	// get reads an object.
	get func(ctx context.Context, key string) ([]byte, error)
	// local: the address of the endpoint is on the loopback interface.
	local bool
	// busy has a value for each question that is being answered.
	busy chan struct{}

	mu     sync.Mutex
	stores map[int]snapshots // by partition, as of its last start
	// list is the URL list that was used last, of object listKey.
	list    *scope.List
	listKey string
}

// snapshots is a store; *stateful.Store implements it.
type snapshots interface {
	Snapshot() (*state.Snapshot, error)
}

const (
	// mostQuestions are answered at once.
	mostQuestions = 2
	// answerWithin is the longest time for an answer, most of which is for a URL list.
	answerWithin = 20 * time.Second
	// mostForm bounds the form of a question, bytes.
	mostForm = 1 << 20
)

func newExplainer(book *cache, partitions int, get func(context.Context, string) ([]byte, error), address string) *explainer {
	host, _, err := net.SplitHostPort(address)
	return &explainer{
		book: book, partitions: partitions, get: get, local: address == "" || err == nil && pipeline.Loopback(host),
		busy: make(chan struct{}, mostQuestions), stores: make(map[int]snapshots),
	}
}

// opened notes the store of a partition.
func (x *explainer) opened(partition int, store snapshots) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stores[partition] = store
}

// problem is an error with a status of HTTP.
type problem struct {
	status int
	error
}

// ServeHTTP answers four questions: a GET of why.Path with the parameters crawl, url and depth with a why.Answer, a POST of
// why.RefusedPath with a list of why.Refusal, a POST of why.ExcludesPath with a why.Effect, and a GET of why.QueuedPath with why.Queues. As
// JSON with status 200; 404 if the process does not have the shard, 503 if it has not taken the crawl up yet.
func (x *explainer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
	defer cancel()
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	answer, err := x.answer(ctx, r)
	var b []byte
	if err == nil {
		b, err = json.Marshal(answer)
	}
	if err != nil {
		status := http.StatusInternalServerError
		var p problem
		if errors.As(err, &p) {
			status = p.status
		}
		http.Error(w, err.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(b) // the client may have gone
}

func (x *explainer) answer(ctx context.Context, r *http.Request) (any, error) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if x.local && !pipeline.Loopback(host) { // a page of the web whose name was made to lead here
		return nil, problem{http.StatusMisdirectedRequest, errors.New("the server does not have this name")}
	}
	select {
	case x.busy <- struct{}{}:
		defer func() { <-x.busy }()
	case <-ctx.Done():
		return nil, problem{http.StatusServiceUnavailable, errors.New("others are being answered")}
	}
	switch r.URL.Path {
	case why.ExcludesPath:
		return x.excludes(r)
	case why.QueuedPath:
		return x.queued(r)
	}
	return x.urls(ctx, r)
}

// queued lists queued URLs of a shard.
func (x *explainer) queued(r *http.Request) (*why.Queues, error) {
	view, name, err := x.view(r.FormValue("crawl"), shardIn(r.FormValue("shard")))
	if err != nil {
		return nil, err
	}
	defer view.Close()
	ctl, err := controlIn(view, unit(name.Crawl, name.Shard))
	if err != nil {
		return nil, err
	}
	return why.List(view, ctl, name.Shard, time.Now())
}

// shardIn reads the number of a shard of a crawl.
func shardIn(text string) func(*schemas.CrawlControl) (uint32, error) {
	return func(ctl *schemas.CrawlControl) (uint32, error) {
		n, err := strconv.ParseUint(text, 10, 32)
		if err == nil && uint32(n) >= schemas.ShardsOf(ctl) {
			err = fmt.Errorf("is %d, the crawl has %d", n, schemas.ShardsOf(ctl))
		}
		return uint32(n), err
	}
}

// urls explains a URL, or decides about several of one shard.
func (x *explainer) urls(ctx context.Context, r *http.Request) (any, error) {
	targets, err := targetsOf(r)
	if err != nil {
		return nil, problem{http.StatusBadRequest, err}
	}
	first := targets[0]
	shard := func(ctl *schemas.CrawlControl) (uint32, error) {
		return schemas.ShardOf(weburl.Host(first.URL), schemas.ShardsOf(ctl)), nil
	}
	view, name, err := x.view(r.FormValue("crawl"), shard)
	if err != nil {
		return nil, err
	}
	defer view.Close()
	q := why.Question{Shard: name.Shard, URL: first.URL, Depth: first.Depth, Now: time.Now()}
	if q.Control, err = controlIn(view, unit(name.Crawl, name.Shard)); err != nil {
		return nil, err
	}
	if q.Scope, err = x.scope(ctx, q.Control.GetScope()); err != nil {
		return nil, err
	}
	if r.URL.Path == why.RefusedPath {
		return why.Refused(view, q, targets)
	}
	return why.Ask(view, q)
}

// targetsOf returns the URLs of a question, at least one, with their depths.
func targetsOf(r *http.Request) ([]why.Target, error) {
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	urls, depths := r.Form["url"], r.Form["depth"]
	if len(urls) == 0 || len(urls) != len(depths) {
		return nil, fmt.Errorf("url and depth: there are %d and %d", len(urls), len(depths))
	}
	targets := make([]why.Target, len(urls))
	for i := range targets {
		u, err := weburl.Parse(urls[i])
		if err != nil {
			return nil, err
		}
		depth, err := strconv.ParseUint(depths[i], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("depth: %w", err)
		}
		targets[i] = why.Target{URL: u.String(), Depth: uint32(depth)}
	}
	return targets, nil
}

// excludes counts what exclude rules would change in a shard.
func (x *explainer) excludes(r *http.Request) (*why.Effect, error) {
	rules := new(schemas.Excludes)
	if err := protojson.Unmarshal([]byte(r.PostFormValue("excludes")), rules); err != nil {
		return nil, problem{http.StatusBadRequest, fmt.Errorf("excludes: %w", err)}
	}
	view, name, err := x.view(r.PostFormValue("crawl"), shardIn(r.PostFormValue("shard")))
	if err != nil {
		return nil, err
	}
	defer view.Close()
	if _, err := controlIn(view, unit(name.Crawl, name.Shard)); err != nil {
		return nil, err
	}
	return why.Exclude(view, name, rules)
}

// view returns a snapshot of the store that has a shard of a crawl; the caller closes it.
func (x *explainer) view(crawl string, shardOf func(*schemas.CrawlControl) (uint32, error)) (*state.Snapshot, frontierstate.ShardName, error) {
	name := frontierstate.ShardName{Crawl: crawl}
	ctl, _ := x.book.look(crawl)
	if ctl == nil || ctl.GetState() == schemas.CrawlState_CRAWL_STATE_DELETED {
		return nil, name, problem{http.StatusNotFound, fmt.Errorf("no crawl %q", crawl)}
	}
	shard, err := shardOf(ctl)
	if err != nil {
		return nil, name, problem{http.StatusBadRequest, fmt.Errorf("shard: %w", err)}
	}
	name.Shard = shard
	partition := stream.PartitionOf([]byte(schemas.ShardKey(crawl, shard)), x.partitions)
	x.mu.Lock()
	store := x.stores[partition]
	x.mu.Unlock()
	elsewhere := problem{http.StatusNotFound, fmt.Errorf("this process does not have partition %d of %s, with shard %d of %s", partition, schemas.TopicLinkFound, shard, crawl)}
	if store == nil {
		return nil, name, elsewhere
	}
	view, err := store.Snapshot()
	if errors.Is(err, state.ErrClosed) {
		return nil, name, elsewhere
	}
	return view, name, err
}

// controlIn reads the control record under which a shard was configured last.
func controlIn(view *state.Snapshot, unit string) (*schemas.CrawlControl, error) {
	b, ok, err := view.Get(controlKey(unit))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, problem{http.StatusServiceUnavailable, errors.New("prioritize has not taken the crawl up yet (forager crawl status names what it waits for)")}
	}
	ctl := new(schemas.CrawlControl)
	return ctl, proto.Unmarshal(b, ctl)
}

// scope returns the scope of a crawl; its URL list is read when it is needed first.
func (x *explainer) scope(ctx context.Context, s *schemas.Scope) (*scope.Scope, error) {
	key := s.GetUrlList()
	if key == "" {
		return scope.New(s, nil)
	}
	x.mu.Lock()
	list := x.list
	if x.listKey != key {
		list = nil
	}
	x.mu.Unlock()
	if list == nil {
		b, err := x.get(ctx, key)
		if err != nil {
			return nil, problem{http.StatusServiceUnavailable, fmt.Errorf("the crawl's URL list: %w", err)}
		}
		if list, err = scope.ReadList(bytes.NewReader(b)); err != nil {
			return nil, err
		}
		x.mu.Lock()
		x.listKey, x.list = key, list
		x.mu.Unlock()
	}
	return scope.New(s, list)
}
