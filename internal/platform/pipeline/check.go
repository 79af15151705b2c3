package pipeline

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"forager/internal/platform/strictyaml"
	"forager/schemas"
)

// TopicNames returns the topics that a pipeline file must have.
func TopicNames() []string {
	return []string{
		schemas.TopicCrawlControl, schemas.TopicCrawlStatus, schemas.TopicFetchRequested,
		schemas.TopicPageFetched, schemas.TopicPageParsed, schemas.TopicPageJudged,
		schemas.TopicLinkFound, schemas.TopicLeapSettled, schemas.TopicModelPublished,
		schemas.TopicHubRanked, schemas.TopicDeadLetter,
	}
}

// maxRecord is the upper bound of a record's size (4 MiB); topics must accept it.
const maxRecord = 4 << 20

// checks reports every value that is missing or out of range, by its path.
type checks struct{ *strictyaml.Report }

func (k checks) need(path, value string) {
	if value == "" {
		k.Problem(path, "is missing")
	}
}

func (k checks) between(path string, value, low, high int64) {
	if value < low || value > high {
		k.Problem(path, "is %d; it must lie between %d and %d", value, low, high)
	}
}

func (k checks) duration(path string, value, low, high time.Duration) {
	if value < low || value > high {
		k.Problem(path, "is %s; it must lie between %s and %s", value, low, high)
	}
}

func (k checks) httpURL(path, value string) {
	if value == "" {
		k.Problem(path, "is missing")
		return
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		k.Problem(path, "%q is not an http:// or https:// address", value)
	}
}

func hostPort(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" || port == "" {
		return fmt.Errorf("%q is not host:port", s)
	}
	return nil
}

func (k checks) all(c *Config) {
	k.need("data", c.Data)
	k.kafka(&c.Kafka)
	k.httpURL("s3.endpoint", c.S3.Endpoint)
	k.need("s3.bucket", c.S3.Bucket)
	k.httpURL("clickhouse.url", c.ClickHouse.URL)
	k.need("clickhouse.database", c.ClickHouse.Database)
	k.topics(c.Topics)
	k.between("disk.pause_below", c.Disk.PauseBelow, 0, 1<<50)
	k.process("local", c.Local.Process)
	if c.Local.ClickHouseBytes != 0 {
		k.between("local.clickhouse_bytes", c.Local.ClickHouseBytes, 128<<20, 1<<46)
	}
	k.stages(&c.Stages)
}

func (k checks) kafka(c *Kafka) {
	if len(c.Brokers) == 0 {
		k.Problem("kafka.brokers", "is missing; name at least one host:port")
	}
	for i, b := range c.Brokers {
		if err := hostPort(b); err != nil {
			k.Problem("kafka.brokers", "number %d: %v", i+1, err)
		}
	}
	k.need("kafka.group", c.Group)
	k.between("kafka.replication", int64(c.Replication), 1, 100)
	k.duration("kafka.session_timeout", c.SessionTimeout, time.Second, 30*time.Minute)
	switch c.SASL.Mechanism {
	case "":
	case "plain", "scram-sha-256", "scram-sha-512":
		k.need("kafka.sasl.user", c.SASL.User)
		k.need("kafka.sasl.password_env", c.SASL.PasswordEnv)
	default:
		k.Problem("kafka.sasl.mechanism", "%q is not one of plain, scram-sha-256, scram-sha-512", c.SASL.Mechanism)
	}
}

func (k checks) topics(have map[string]Topic) {
	known := TopicNames()
	for _, name := range known {
		t, ok := have[name]
		k.topic(name, t, ok)
	}
	for name := range have {
		if !slices.Contains(known, name) {
			k.Problem("topics."+name, "no such topic; known: %s", strings.Join(known, ", "))
		}
	}
}

// topic checks one topic; ok: the file has it.
func (k checks) topic(name string, t Topic, ok bool) {
	path := "topics." + name
	single := name == schemas.TopicCrawlControl || name == schemas.TopicModelPublished || name == schemas.TopicHubRanked
	compact := single || name == schemas.TopicCrawlStatus
	least := int64(maxRecord)
	if name == schemas.TopicDeadLetter {
		least = 2 * maxRecord
	}
	if !ok {
		kept := "retention: 720h"
		if compact {
			kept = "compact: true"
		}
		k.Problem(path, "is missing; add, below topics, %s: {partitions: 1, %s, max_message_bytes: %d}", name, kept, least)
		return
	}
	if single {
		k.between(path+".partitions", int64(t.Partitions), 1, 1)
	} else {
		k.between(path+".partitions", int64(t.Partitions), 1, 10_000)
	}
	if t.Compact != compact {
		k.Problem(path+".compact", "must be %t", compact)
	}
	if t.Compact && t.Retention != 0 {
		k.Problem(path+".retention", "a compacted topic has none")
	}
	k.between(path+".max_message_bytes", int64(t.MaxMessageBytes), least, 1<<30)
}

// process checks the settings that every process has.
func (k checks) process(path string, p Process) {
	if p.Metrics != "" {
		if err := hostPort(p.Metrics); err != nil {
			k.Problem(path+".metrics", "%v", err)
		}
	}
	if p.MemoryBytes != 0 {
		k.between(path+".memory_bytes", p.MemoryBytes, 16<<20, 1<<46)
	}
	k.between(path+".gc_percent", int64(p.GCPercent), 0, 10_000)
}

// stages checks the settings of single stages.
func (k checks) stages(s *Stages) {
	for _, stage := range []struct {
		name   string
		common Common
	}{
		{"fetch", s.Fetch.Common}, {"parse-dom", s.ParseDOM.Common}, {"critic-score", s.CriticScore.Common},
		{"feature-extract", s.FeatureExtract.Common}, {"prioritize", s.Prioritize.Common},
		{"apprentice-train", s.ApprenticeTrain.Common}, {"distill", s.Distill.Common}, {"load-clickhouse", s.LoadClickHouse.Common},
		{"archive-parquet", s.ArchiveParquet.Common},
	} {
		k.between("stages."+stage.name+".replicas", int64(stage.common.Replicas), 0, 1000)
		k.process("stages."+stage.name, stage.common.Process)
	}
	k.fetch(&s.Fetch)
	k.between("stages.parse-dom.workers", int64(s.ParseDOM.Workers), 1, 1024)
	k.between("stages.parse-dom.cache_bytes", s.ParseDOM.CacheBytes, 0, 1<<40)
	k.between("stages.critic-score.workers", int64(s.CriticScore.Workers), 1, 1024)
	k.between("stages.feature-extract.workers", int64(s.FeatureExtract.Workers), 1, 1024)
	k.between("stages.prioritize.cache_bytes", s.Prioritize.CacheBytes, 1<<20, 1<<40)
	k.duration("stages.prioritize.retry_delay", s.Prioritize.RetryDelay, 0, 24*time.Hour)
	k.between("stages.prioritize.frontier_bytes", s.Prioritize.FrontierBytes, 8<<20, 1<<40)
	k.between("stages.prioritize.rescore_batch", int64(s.Prioritize.RescoreBatch), 1, 1_000_000)
	k.between("stages.apprentice-train.cache_bytes", s.ApprenticeTrain.CacheBytes, 1<<20, 1<<40)
	k.between("stages.distill.cache_bytes", s.Distill.CacheBytes, 1<<20, 1<<40)
	k.between("stages.load-clickhouse.batch_rows", int64(s.LoadClickHouse.BatchRows), 1, 10_000_000)
	k.duration("stages.load-clickhouse.flush", s.LoadClickHouse.Flush, time.Millisecond, time.Hour)
	k.archive(&s.ArchiveParquet)
}

func (k checks) fetch(f *Fetch) {
	k.between("stages.fetch.concurrency", int64(f.Concurrency), 1, 100_000)
	k.duration("stages.fetch.hold", f.Hold, 0, time.Hour)
	k.duration("stages.fetch.header_timeout", f.HeaderTimeout, time.Millisecond, time.Hour)
	k.duration("stages.fetch.body_timeout", f.BodyTimeout, time.Millisecond, time.Hour)
	k.between("stages.fetch.max_body", f.MaxBody, 1<<10, 1<<30)
	k.between("stages.fetch.segment_bytes", f.SegmentBytes, 1<<10, 5<<30)
	k.duration("stages.fetch.segment_age", f.SegmentAge, 0, time.Minute)
	k.duration("stages.fetch.linger", f.Linger, 0, time.Minute)
	k.duration("stages.fetch.robots_ttl", f.RobotsTTL, time.Second, 24*time.Hour)
	if f.Proxy != "" {
		k.httpURL("stages.fetch.proxy", f.Proxy)
	}
	k.hosts("stages.fetch.allow_private", f.AllowPrivate)
}

func (k checks) archive(a *ArchiveParquet) {
	k.between("stages.archive-parquet.file_bytes", a.FileBytes, maxRecord, 1<<30)
	k.duration("stages.archive-parquet.file_age", a.FileAge, time.Millisecond, 24*time.Hour)
	if least := archiveMemory(a.FileBytes); a.MemoryBytes != 0 && a.MemoryBytes < least {
		k.Problem("stages.archive-parquet.memory_bytes", "is %d; with this file_bytes it must be %d at least", a.MemoryBytes, least)
	}
}
