package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/schemas"
)

// books are the compacted topics, read to their end and followed: which crawls exist, their state, and the published models.
type books struct {
	client *stream.Client
	mu     sync.Mutex
	// controls by crawl; statuses by crawl and shard; models by version.
	controls map[string]*schemas.CrawlControl
	statuses map[string]map[uint32]*schemas.CrawlStatus
	models   map[string]*schemas.ModelPublished
	// critics, guides and sources of backlinks are the newest versions by name.
	critics, guides, backlinks map[string]*schemas.ModelPublished
	// next is the offset after the last record read, by topic.
	next      map[string]int64
	followers []*stream.Follower
}

// openBooks connects to the broker and reads the compacted topics to their end. Unlike a stage it does not wait
// for a broker that is down: it returns an error with the remedy.
func openBooks(ctx context.Context, s *session, cfg *pipeline.Config) (*books, error) {
	client, err := stream.Dial(cfg.Kafka, cfg.Topics, s.log, nil)
	if err != nil {
		return nil, err
	}
	b := &books{
		client: client, controls: make(map[string]*schemas.CrawlControl),
		statuses: make(map[string]map[uint32]*schemas.CrawlStatus),
		models:   make(map[string]*schemas.ModelPublished), critics: make(map[string]*schemas.ModelPublished), guides: make(map[string]*schemas.ModelPublished),
		backlinks: make(map[string]*schemas.ModelPublished),
		next:      make(map[string]int64),
	}
	within := s.patience()
	patience, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for _, topic := range []string{schemas.TopicCrawlControl, schemas.TopicCrawlStatus, schemas.TopicModelPublished} {
		f, err := client.Follow(patience, topic, b.read)
		if err != nil {
			b.close()
			if ctx.Err() == nil && patience.Err() != nil {
				return nil, fmt.Errorf("topic %s of Kafka at %s cannot be read within %s (forager up starts what is needed, forager doctor finds the fault): %w",
					topic, strings.Join(cfg.Kafka.Brokers, ", "), within, err)
			}
			return nil, fmt.Errorf("read topic %s: %w", topic, err)
		}
		b.followers = append(b.followers, f)
	}
	return b, nil
}

func (b *books) close() {
	for _, f := range b.followers {
		f.Close()
	}
	b.client.Close()
}

func (b *books) read(r stream.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next[r.Topic] = r.Offset + 1
	if r.Value == nil {
		return nil // compaction removes a key; its last value stays here
	}
	m, err := readFollowed(r)
	if err != nil {
		return err // the record is skipped
	}
	b.take(m)
	return nil
}

// note adds a record to the books before it is read back from its topic.
func (b *books) note(m proto.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.take(m)
}

// take adds a record; the caller holds mu.
func (b *books) take(m proto.Message) {
	switch m := m.(type) {
	case *schemas.CrawlControl:
		if old := b.controls[m.GetCrawl()]; old == nil || old.GetRevision() < m.GetRevision() {
			b.controls[m.GetCrawl()] = m
		}
	case *schemas.CrawlStatus:
		shards := b.statuses[m.GetCrawl()]
		if shards == nil {
			shards = make(map[uint32]*schemas.CrawlStatus)
			b.statuses[m.GetCrawl()] = shards
		}
		// A replaced owner may write after its successor: the higher epoch counts, then the later time.
		if old := shards[m.GetShard()]; old == nil || cmp.Or(cmp.Compare(old.GetEpoch(), m.GetEpoch()), cmp.Compare(old.GetAt(), m.GetAt())) <= 0 {
			shards[m.GetShard()] = m
		}
	case *schemas.ModelPublished:
		b.models[m.GetVersion()] = m
		name := schemas.ModelName(m.GetVersion())
		switch m.GetKind() {
		case "critic":
			b.critics[name] = m
		case "guide":
			if m.GetCrawl() == "" { // otherwise a crawl made it for itself, possibly of an older version
				b.guides[name] = m
			}
		case "backlinks":
			b.backlinks[name] = m
		}
	}
}

// control returns a crawl's newest control record. It is an error if there is none, or if the crawl was deleted.
func (b *books) control(crawl string) (*schemas.CrawlControl, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.controls[crawl]
	switch {
	case c == nil:
		return nil, fmt.Errorf("no crawl %q; %s", crawl, b.others())
	case deleted(c):
		return nil, fmt.Errorf("crawl %q was deleted, and its name is never used again; %s", crawl, b.others())
	}
	return proto.CloneOf(c), nil
}

// others names the crawls that exist; the caller holds mu.
func (b *books) others() string {
	names := b.standing()
	if len(names) == 0 {
		return "there is none (forager crawl start makes one)"
	}
	return "there are: " + strings.Join(names, ", ")
}

// standing returns the names of the crawls that were not deleted, sorted; the caller holds mu.
func (b *books) standing() []string {
	names := slices.Sorted(maps.Keys(b.controls))
	return slices.DeleteFunc(names, func(n string) bool { return deleted(b.controls[n]) })
}

// known returns the names of the crawls that were not deleted, sorted.
func (b *books) known() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.standing()
}

// versions returns the versions of the models whose announcements are retained: the newest ones.
func (b *books) versions() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.models))
}

// guideNames returns the names of the guides, sorted.
func (b *books) guideNames() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.guides))
}

// criticNames returns the names of the critics, sorted.
func (b *books) criticNames() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.critics))
}

func deleted(c *schemas.CrawlControl) bool {
	return c.GetState() == schemas.CrawlState_CRAWL_STATE_DELETED
}

// status returns the status of a crawl, its shards combined; nil before prioritize has written any.
func (b *books) status(crawl string) *schemas.CrawlStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	return schemas.WholeCrawl(b.controls[crawl], b.statuses[crawl])
}

// firstOffset returns the smallest offset of the crawl's records in a partition of a topic, over all shards; ok
// is false if there is none.
func (b *books) firstOffset(crawl, topic string, partition int) (offset int64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, st := range b.statuses[crawl] {
		if first, there := st.GetSpans()[topic].GetFirst()[uint32(partition)]; there && (!ok || first < offset) {
			offset, ok = first, true
		}
	}
	return offset, ok
}

// published returns the announcement of a model, nil if there is none or compaction removed it.
func (b *books) published(version string) *schemas.ModelPublished {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.models[version]
}

// critic resolves a name or a version of a critic.
func (b *books) critic(name string) (*schemas.ModelPublished, error) {
	return b.named("critic", name, b.critics, "forager critic train makes one")
}

// guide resolves a name or a version of a guide.
func (b *books) guide(name string) (*schemas.ModelPublished, error) {
	return b.named("guide", name, b.guides, "forager guide --help says how one is made")
}

// named resolves a name or a version of a model of a kind with names; made describes how to make one.
func (b *books) named(kind, name string, newest map[string]*schemas.ModelPublished, made string) (*schemas.ModelPublished, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := newest[name]; m != nil {
		return m, nil
	}
	if m := b.models[name]; m != nil && m.GetKind() == kind {
		return m, nil
	}
	known := slices.Sorted(maps.Keys(newest))
	if len(known) == 0 {
		return nil, fmt.Errorf("no %s %q; there is none yet (%s)", kind, name, made)
	}
	return nil, fmt.Errorf("no %s %q; there are: %s", kind, name, strings.Join(known, ", "))
}

// send produces one record, waits until it is acknowledged and returns its position.
func (b *books) send(ctx context.Context, topic, key string, headers map[string]string, m proto.Message) (stream.Position, error) {
	value, err := proto.Marshal(m)
	if err != nil {
		return stream.Position{}, err
	}
	if headers == nil {
		headers = make(map[string]string)
	}
	headers[schemas.HeaderVersion] = fmt.Sprint(schemas.Version)
	at, err := b.client.Produce(ctx, []stream.Out{{
		Topic: topic, Partition: -1, Key: []byte(key), Value: value, Headers: headers,
	}})
	if err != nil {
		return stream.Position{}, err
	}
	return at[0], nil
}

// openBooks reads the pipeline file and opens the books of its broker.
func (s *session) openBooks() (*pipeline.Config, *books, error) {
	cfg, err := s.pipeline()
	if err != nil {
		return nil, nil, err
	}
	b, err := openBooks(s, s, cfg)
	return cfg, b, err
}

// openCrawl opens the books and finds the control record of a crawl in them.
func (s *session) openCrawl(name string) (*pipeline.Config, *books, *schemas.CrawlControl, error) {
	cfg, b, err := s.openBooks()
	if err != nil {
		return nil, nil, nil, err
	}
	ctl, err := b.control(name)
	if err != nil {
		b.close()
		return nil, nil, nil, err
	}
	return cfg, b, ctl, nil
}

// openStore opens the books and the object store.
func (s *session) openStore() (*books, *objects.Store, error) {
	cfg, b, err := s.openBooks()
	if err != nil {
		return nil, nil, err
	}
	store, err := objects.Open(cfg.S3)
	if err != nil {
		b.close()
		return nil, nil, err
	}
	return b, store, nil
}
