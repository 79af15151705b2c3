package operate

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/schemas"
)

// Topics are the compacted topics, read to their end and followed: which crawls exist, their state, and the published models.
type Topics struct {
	Client   *kafka.Client
	Mu       sync.Mutex
	Controls *controls.Cache
	// Statuses by crawl and shard; models by version.
	Statuses map[string]map[uint32]*schemas.CrawlStatus
	Models   map[string]*schemas.ModelPublished
	// Critics, guides and sources of backlinks are the newest versions by name.
	Critics, guides, Backlinks map[string]*schemas.ModelPublished
	// Next is the offset after the last record read, by topic.
	Next      map[string]int64
	followers []*kafka.Follower
}

// Followed are the topics that Topics are made of.
var Followed = []string{schemas.TopicCrawlControl, schemas.TopicCrawlStatus, schemas.TopicModelPublished}

// New returns topics of which nothing has been read; every record of Followed is to be given to Read.
func New(client *kafka.Client) *Topics {
	return &Topics{
		Client: client, Controls: controls.New(),
		Statuses: make(map[string]map[uint32]*schemas.CrawlStatus),
		Models:   make(map[string]*schemas.ModelPublished), Critics: make(map[string]*schemas.ModelPublished), guides: make(map[string]*schemas.ModelPublished),
		Backlinks: make(map[string]*schemas.ModelPublished),
		Next:      make(map[string]int64),
	}
}

// Open connects to the broker and reads the compacted topics to their end. Unlike a stage it does not wait
// for a broker that is down: it returns an error with the remedy when none has responded within that time.
func Open(ctx context.Context, cfg *pipeline.Config, log *slog.Logger, within time.Duration) (*Topics, error) {
	client, err := kafka.Dial(cfg.Kafka, cfg.Topics, log, nil)
	if err != nil {
		return nil, err
	}
	b := New(client)
	patience, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for _, topic := range Followed {
		f, err := client.Follow(patience, topic, b.Read)
		if err != nil {
			b.Close()
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

// Close ends the followers and the client.
func (b *Topics) Close() {
	for _, f := range b.followers {
		f.Close()
	}
	b.Client.Close()
}

func (b *Topics) Read(r stream.Record) error {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	b.Next[r.Topic] = r.Offset + 1
	if r.Value == nil {
		return nil // compaction removes a key; its last value stays here
	}
	m, err := ReadFollowed(r)
	if err != nil {
		return err // the record is skipped
	}
	b.Take(m)
	return nil
}

// Note adds a record to the books before it is read back from its topic.
func (b *Topics) Note(m proto.Message) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	b.Take(m)
}

// Take adds a record; the caller holds mu.
func (b *Topics) Take(m proto.Message) {
	switch m := m.(type) {
	case *schemas.CrawlControl:
		_ = b.Controls.Add(m) // one that is refused changes nothing; the status of the crawl names it
	case *schemas.CrawlStatus:
		shards := b.Statuses[m.GetCrawl()]
		if shards == nil {
			shards = make(map[uint32]*schemas.CrawlStatus)
			b.Statuses[m.GetCrawl()] = shards
		}
		// A replaced owner may write after its successor: the higher epoch counts, then the later time.
		if old := shards[m.GetShard()]; old == nil || cmp.Or(cmp.Compare(old.GetEpoch(), m.GetEpoch()), cmp.Compare(old.GetAt(), m.GetAt())) <= 0 {
			shards[m.GetShard()] = m
		}
	case *schemas.ModelPublished:
		b.Models[m.GetVersion()] = m
		name := schemas.ModelName(m.GetVersion())
		switch m.GetKind() {
		case "critic":
			b.Critics[name] = m
		case "guide":
			if m.GetCrawl() == "" { // otherwise a crawl made it for itself, possibly of an older version
				b.guides[name] = m
			}
		case "backlinks":
			b.Backlinks[name] = m
		}
	}
}

// Control returns a crawl's newest control record. It is an error if there is none, or if the crawl was deleted.
func (b *Topics) Control(crawl string) (*schemas.CrawlControl, error) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	c := b.Controls.Get(crawl)
	switch {
	case c == nil:
		return nil, reason{fmt.Errorf("no crawl %q; %s", crawl, b.others()), ErrUnknown}
	case Deleted(c):
		return nil, reason{fmt.Errorf("crawl %q was deleted, and its name is never used again; %s", crawl, b.others()), ErrUnknown}
	}
	return proto.CloneOf(c), nil
}

// others names the crawls that exist; the caller holds mu.
func (b *Topics) others() string {
	names := b.states()
	if len(names) == 0 {
		return "there is none (forager crawl start makes one)"
	}
	return "there are: " + strings.Join(names, ", ")
}

// states returns the names of the crawls that were not deleted, sorted; the caller holds mu.
func (b *Topics) states() []string {
	return slices.DeleteFunc(b.Controls.Crawls(), b.Controls.Deleted)
}

// Known returns the names of the crawls that were not deleted, sorted.
func (b *Topics) Known() []string {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return b.states()
}

// Versions returns the versions of the models whose announcements are retained: the newest ones.
func (b *Topics) Versions() []string {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return slices.Sorted(maps.Keys(b.Models))
}

// GuideNames returns the names of the guides, sorted.
func (b *Topics) GuideNames() []string {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return slices.Sorted(maps.Keys(b.guides))
}

// CriticNames returns the names of the critics, sorted.
func (b *Topics) CriticNames() []string {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return slices.Sorted(maps.Keys(b.Critics))
}

// Deleted reports whether a crawl was deleted.
func Deleted(c *schemas.CrawlControl) bool {
	return c.GetState() == schemas.CrawlState_CRAWL_STATE_DELETED
}

// Status returns the status of a crawl, its shards combined; nil before prioritize has written any.
func (b *Topics) Status(crawl string) *schemas.CrawlStatus {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return schemas.WholeCrawl(b.Controls.Get(crawl), b.Statuses[crawl])
}

// FirstOffset returns the smallest offset of the crawl's records in a partition of a topic, over all shards; ok
// is false if there is none.
func (b *Topics) FirstOffset(crawl, topic string, partition int) (offset int64, ok bool) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	for _, st := range b.Statuses[crawl] {
		if first, there := st.GetSpans()[topic].GetFirst()[uint32(partition)]; there && (!ok || first < offset) {
			offset, ok = first, true
		}
	}
	return offset, ok
}

// Published returns the announcement of a model, nil if there is none or compaction removed it.
func (b *Topics) Published(version string) *schemas.ModelPublished {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return b.Models[version]
}

// Critic resolves a name or a version of a critic.
func (b *Topics) Critic(name string) (*schemas.ModelPublished, error) {
	return b.Named("critic", name, b.Critics, "forager critic train makes one")
}

// Guide resolves a name or a version of a guide.
func (b *Topics) Guide(name string) (*schemas.ModelPublished, error) {
	return b.Named("guide", name, b.guides, "forager guide --help lists the ways to make one")
}

// Named resolves a name or a version of a model of a kind with names; made describes how to make one.
func (b *Topics) Named(kind, name string, newest map[string]*schemas.ModelPublished, made string) (*schemas.ModelPublished, error) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if m := newest[name]; m != nil {
		return m, nil
	}
	if m := b.Models[name]; m != nil && m.GetKind() == kind {
		return m, nil
	}
	known := slices.Sorted(maps.Keys(newest))
	if len(known) == 0 {
		return nil, fmt.Errorf("no %s %q; there is none yet (%s)", kind, name, made)
	}
	return nil, fmt.Errorf("no %s %q; there are: %s", kind, name, strings.Join(known, ", "))
}

// Send produces one record, waits until it is acknowledged and returns its position.
func (b *Topics) Send(ctx context.Context, topic, key string, headers map[string]string, m proto.Message) (stream.Position, error) {
	value, err := proto.Marshal(m)
	if err != nil {
		return stream.Position{}, err
	}
	if headers == nil {
		headers = make(map[string]string)
	}
	headers[schemas.HeaderVersion] = fmt.Sprint(schemas.Version)
	at, err := b.Client.Produce(ctx, []stream.Out{{
		Topic: topic, Partition: -1, Key: []byte(key), Value: value, Headers: headers,
	}})
	if err != nil {
		return stream.Position{}, err
	}
	return at[0], nil
}

// Crawls returns the names of all crawls, sorted.
func (b *Topics) Crawls() []string { return b.Controls.Crawls() }

// Apprentice returns the newest apprentice model that a crawl itself made, nil without one.
func (b *Topics) Apprentice(crawl string) *schemas.ModelPublished {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	var newest *schemas.ModelPublished
	for _, m := range b.Models {
		if m.GetKind() == "apprentice" && m.GetCrawl() == crawl && !m.GetRetrained() && (newest == nil || m.GetPages() > newest.GetPages()) {
			newest = m
		}
	}
	return newest
}

// Ended reports whether a crawl has finished.
func Ended(st *schemas.CrawlStatus) bool {
	return st.GetState() == schemas.ShardState_SHARD_STATE_FINISHED
}

// ReadFollowed decodes a record of a followed topic; the error is that it cannot be decoded.
func ReadFollowed(r stream.Record) (proto.Message, error) {
	if text, ok := r.Headers[schemas.HeaderVersion]; ok {
		if v, err := strconv.Atoi(text); err != nil || v < 1 {
			return nil, fmt.Errorf("header %q is %q: no program of Forager wrote it", schemas.HeaderVersion, text)
		}
	}
	m := schemas.Record(r.Topic)
	if err := proto.Unmarshal(r.Value, m); err != nil {
		return nil, err
	}
	if ctl, ok := m.(*schemas.CrawlControl); ok && ctl.GetCrawl() != string(r.Key) {
		return nil, fmt.Errorf("it is about crawl %q", ctl.GetCrawl())
	}
	return m, nil
}
