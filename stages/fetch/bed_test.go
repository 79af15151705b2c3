package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"forager/internal/platform/objects/objectstest"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/stagemain"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/streamtest"
	"forager/internal/web/webclient"
	"forager/schemas"
)

// bed is a broker, an object store and a web, and the stage between them.
type bed struct {
	t     *testing.T
	cfg   *pipeline.Config
	store *objectstest.Server
	kafka *kafka.Client
	// web responds for every host: it is the stage's proxy.
	web *httptest.Server
	// header is called when a header has come, if it is set.
	header func(url string)

	mu     sync.Mutex
	visits []visited
}

// visited is one request that the web saw.
type visited struct {
	url        string
	begin, end time.Time
}

func newBed(t *testing.T, web http.HandlerFunc) *bed {
	t.Helper()
	b := &bed{t: t, store: objectstest.Start(t)}
	b.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		if r.URL.Path == "/robots.txt" && r.URL.Host != "strict.test" {
			http.NotFound(w, r)
		} else {
			web(w, r)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.visits = append(b.visits, visited{r.RequestURI, begin, time.Now()})
	}))
	t.Cleanup(b.web.Close)
	b.cfg = &pipeline.Config{Kafka: streamtest.Embedded(t).Config(), S3: b.store.Config, Topics: map[string]pipeline.Topic{
		schemas.TopicCrawlControl:   {Partitions: 1, Compact: true, MaxMessageBytes: 4 << 20},
		schemas.TopicFetchRequested: {Partitions: 2, MaxMessageBytes: 4 << 20},
		schemas.TopicPageFetched:    {Partitions: 2, MaxMessageBytes: 4 << 20},
		schemas.TopicFetchTurn:      {Partitions: 1, MaxMessageBytes: 4 << 20},
		schemas.TopicDeadLetter:     {Partitions: 1, MaxMessageBytes: 8 << 20},
	}}
	b.cfg.Kafka.SessionTimeout = 2 * time.Second
	b.cfg.Stages.Fetch = pipeline.Fetch{
		Concurrency: 16, Hold: 20 * time.Second, HeaderTimeout: 10 * time.Second, BodyTimeout: 10 * time.Second,
		MaxBody: 1 << 16, SegmentBytes: 1 << 20, SegmentAge: 20 * time.Millisecond, Proxy: b.web.URL, RobotsTTL: time.Hour,
	}
	var err error
	if b.kafka, err = kafka.Dial(b.cfg.Kafka, b.cfg.Topics, quiet, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.kafka.Close)
	if _, err := b.kafka.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

var quiet = slog.New(slog.DiscardHandler)

func environment(c *pipeline.Config) *stagemain.Env {
	return &stagemain.Env{Config: c, Stage: name, Log: quiet, Metrics: prometheus.NewRegistry()}
}

// run starts the stage; stop drains it and returns its error.
func (b *bed) run() (stop func() error) {
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan error, 1)
	go func() {
		if b.header == nil {
			ended <- declared.Run(ctx, environment(b.cfg))
			return
		}
		set := b.cfg.Stages.Fetch
		client, err := webclient.New(webclient.Settings{HeaderTimeout: set.HeaderTimeout, BodyTimeout: set.BodyTimeout, Proxy: set.Proxy, Connections: 4})
		if err != nil {
			ended <- err
			return
		}
		defer client.Close()
		stage := declared
		stage.New = func(ctx context.Context, env *stagemain.Env) (*stagemain.Logic, error) {
			return newLogic(ctx, env, &listening{client, b.header}, func() {})
		}
		ended <- stage.Run(ctx, environment(b.cfg))
	}()
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() { cancel(); err = <-ended })
		return err
	}
	b.t.Cleanup(func() {
		if err := stop(); err != nil {
			b.t.Errorf("the stage ended with: %v", err)
		}
	})
	return stop
}

// listening is a client that signals when a header has come.
type listening struct {
	*webclient.Client
	header func(url string)
}

func (l *listening) Get(ctx context.Context, r webclient.Request) (*webclient.Response, error) {
	want := r.Want
	r.Want = func(a *webclient.Response, start []byte) bool {
		if start == nil {
			l.header(r.URL.String())
		}
		return want(a, start)
	}
	return l.Client.Get(ctx, r)
}

// request makes a FetchRequest as prioritize does.
func (b *bed) request(crawl, url string, attempt uint32, delay time.Duration) *schemas.FetchRequest {
	b.t.Helper()
	return &schemas.FetchRequest{
		Id: schemas.RequestID(crawl, url, attempt).Bytes(), Crawl: crawl, Url: url, Host: parse(b.t, url).Host(), Attempt: attempt, Epoch: 1,
		Politeness: &schemas.Politeness{DelayMs: uint32(delay.Milliseconds()), UserAgent: "forager/1 (+mailto:x@a.test)"},
	}
}

func encode(t *testing.T, m proto.Message) []byte {
	t.Helper()
	value, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func (b *bed) send(requests ...*schemas.FetchRequest) {
	b.t.Helper()
	var outs []stream.Out
	for _, r := range requests {
		outs = append(outs, stream.Out{Topic: schemas.TopicFetchRequested, Partition: -1, Key: []byte(r.Host), Value: encode(b.t, r), Headers: schemas.RequestHeaders(r)})
	}
	b.produce(outs...)
}

func (b *bed) produce(outs ...stream.Out) {
	b.t.Helper()
	if _, err := b.kafka.Produce(b.t.Context(), outs); err != nil {
		b.t.Fatal(err)
	}
}

// read returns all records of a topic as of now.
func (b *bed) read(topic string) []stream.Record {
	b.t.Helper()
	var all []stream.Record
	for p := range b.cfg.Topics[topic].Partitions {
		first, end, err := b.kafka.Offsets(b.t.Context(), topic, p)
		if err != nil {
			b.t.Fatal(err)
		}
		if err := b.kafka.Read(b.t.Context(), topic, p, first, end, func(r stream.Record) error { all = append(all, r); return nil }); err != nil {
			b.t.Fatal(err)
		}
	}
	return all
}

// fetched waits for n records of page.fetched and returns them by URL and attempt. None may
// come twice.
func (b *bed) fetched(n int) map[string]*schemas.PageFetched {
	b.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		records := b.read(schemas.TopicPageFetched)
		if len(records) >= n || time.Now().After(deadline) {
			pages := map[string]*schemas.PageFetched{}
			for _, r := range records {
				page, req := &schemas.PageFetched{}, &schemas.FetchRequest{}
				if err := proto.Unmarshal(r.Value, page); err != nil {
					b.t.Fatal(err)
				}
				if err := proto.Unmarshal(page.Request, req); err != nil {
					b.t.Fatal(err)
				}
				key := fmt.Sprint(page.Url, " ", req.Attempt)
				if pages[key] != nil {
					b.t.Errorf("%s came twice", key)
				}
				if page.Url != "" && r.Headers[schemas.HeaderURL] != page.Url || string(r.Key) != r.Headers[schemas.HeaderHost] || string(page.Id) != string(req.Id) {
					b.t.Errorf("%s: headers %v, key %s", key, r.Headers, r.Key)
				}
				pages[key] = page
			}
			if len(records) != n {
				b.t.Fatalf("%d records of page.fetched, want %d: %v", len(records), n, outcomes(pages))
			}
			return pages
		}
		time.Sleep(5 * time.Millisecond) // between two looks at the broker
	}
}

func outcomes(pages map[string]*schemas.PageFetched) []string {
	var all []string
	for key, p := range pages {
		all = append(all, key+": "+schemas.OutcomeName(p.Outcome)+" "+p.Detail)
	}
	slices.Sort(all)
	return all
}

// seen returns what the web saw, in order of begin, without robots.txt where host is "".
func (b *bed) seen(host string) []visited {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []visited
	for _, v := range b.visits {
		u := parse(b.t, v.url)
		if host == "" && u.Path() != "/robots.txt" || u.Host() == host {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b visited) int { return a.begin.Compare(b.begin) })
	return all
}

// page responds with a page that names itself.
func page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	io.WriteString(w, "<html><title>"+r.RequestURI+"</title>")
}
