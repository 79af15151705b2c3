package pipeline

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forager/internal/strictyaml"
	"forager/schemas"
)

// Load reads the pipeline file at path. Data is made absolute, relative to the file's
// folder. What is wrong with the content comes as *strictyaml.Error with every problem.
func Load(path string) (*Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the pipeline file: %w", err)
	}
	c, problems := parse(b)
	if len(problems) > 0 {
		return nil, &strictyaml.Error{File: path, Problems: problems}
	}
	if !filepath.IsAbs(c.Data) {
		dir, err := filepath.Abs(filepath.Dir(path))
		if err != nil {
			return nil, fmt.Errorf("folder of %s: %w", path, err)
		}
		c.Data = filepath.Join(dir, c.Data)
	}
	return c, nil
}

func parse(b []byte) (*Config, []strictyaml.Problem) {
	c := defaults()
	r := strictyaml.Decode(b, c)
	validate(c, r)
	return c, r.Problems()
}

// defaults are what a pipeline file need not say.
func defaults() *Config {
	one := func(mib int64) Common {
		return Common{Process: Process{MemoryBytes: mib << 20}, Replicas: 1}
	}
	// What these have in use is small beside their limit, and they make much garbage.
	light := func(mib int64) Common {
		c := one(mib)
		c.GCPercent = 200
		return c
	}
	return &Config{
		Data:       "build/data",
		Kafka:      Kafka{Group: "forager", Replication: 1, SessionTimeout: 10 * time.Second},
		S3:         S3{Region: "us-east-1", Bucket: "forager"},
		ClickHouse: ClickHouse{Database: "forager", User: "default"},
		Local:      Local{Process: Process{MemoryBytes: 512 << 20}},
		Disk:       Disk{PauseBelow: 1 << 30},
		Stages: Stages{
			Fetch: Fetch{
				Common: light(512), Concurrency: 64, Hold: 30 * time.Second,
				HeaderTimeout: 20 * time.Second, BodyTimeout: time.Minute, MaxBody: 4 << 20,
				SegmentBytes: 64 << 20, SegmentAge: 250 * time.Millisecond, Linger: 20 * time.Millisecond, RobotsTTL: 24 * time.Hour,
			},
			ParseDOM:        ParseDOM{Common: light(256), Workers: 2, CacheBytes: 16 << 20},
			CriticScore:     CriticScore{Common: light(256), Workers: 2},
			FeatureExtract:  FeatureExtract{Common: light(256), Workers: 2},
			Prioritize:      Prioritize{Common: one(768), CacheBytes: 64 << 20, FrontierBytes: 160 << 20, RetryDelay: 30 * time.Second, RescoreBatch: 2048},
			ApprenticeTrain: ApprenticeTrain{Common: one(256), CacheBytes: 32 << 20},
			Distill:         Distill{Common: one(768), CacheBytes: 16 << 20},
			LoadClickHouse:  LoadClickHouse{Common: light(512), BatchRows: 50_000, Flush: 2 * time.Second},
			ArchiveParquet:  ArchiveParquet{Common: one(256), FileBytes: 32 << 20, FileAge: time.Minute},
		},
	}
}

// TopicNames are the topics a pipeline file must set up.
func TopicNames() []string {
	return []string{
		schemas.TopicCrawlControl, schemas.TopicCrawlStatus, schemas.TopicFetchRequested,
		schemas.TopicPageFetched, schemas.TopicPageParsed, schemas.TopicPageJudged,
		schemas.TopicLinkFound, schemas.TopicLeapSettled, schemas.TopicModelPublished,
		schemas.TopicHubRanked, schemas.TopicDeadLetter,
	}
}

// maxRecord is the size that records keep under (4 MiB); topics must take it.
const maxRecord = 4 << 20

func validate(c *Config, r *strictyaml.Report) {
	need := func(path, value string) {
		if value == "" {
			r.Problem(path, "is missing")
		}
	}
	between := func(path string, value, low, high int64) {
		if value < low || value > high {
			r.Problem(path, "is %d; it must lie between %d and %d", value, low, high)
		}
	}
	duration := func(path string, value, low, high time.Duration) {
		if value < low || value > high {
			r.Problem(path, "is %s; it must lie between %s and %s", value, low, high)
		}
	}
	httpURL := func(path, value string) {
		if value == "" {
			r.Problem(path, "is missing")
			return
		}
		u, err := url.Parse(value)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			r.Problem(path, "%q is not an http:// or https:// address", value)
		}
	}
	need("data", c.Data)
	if len(c.Kafka.Brokers) == 0 {
		r.Problem("kafka.brokers", "is missing; name at least one host:port")
	}
	for i, b := range c.Kafka.Brokers {
		if err := hostPort(b); err != nil {
			r.Problem("kafka.brokers", "number %d: %v", i+1, err)
		}
	}
	need("kafka.group", c.Kafka.Group)
	between("kafka.replication", int64(c.Kafka.Replication), 1, 100)
	duration("kafka.session_timeout", c.Kafka.SessionTimeout, time.Second, 30*time.Minute)
	switch c.Kafka.SASL.Mechanism {
	case "":
	case "plain", "scram-sha-256", "scram-sha-512":
		need("kafka.sasl.user", c.Kafka.SASL.User)
		need("kafka.sasl.password_env", c.Kafka.SASL.PasswordEnv)
	default:
		r.Problem("kafka.sasl.mechanism", "%q is not one of plain, scram-sha-256, scram-sha-512", c.Kafka.SASL.Mechanism)
	}
	httpURL("s3.endpoint", c.S3.Endpoint)
	need("s3.bucket", c.S3.Bucket)
	httpURL("clickhouse.url", c.ClickHouse.URL)
	need("clickhouse.database", c.ClickHouse.Database)

	known := TopicNames()
	for _, name := range known {
		t, ok := c.Topics[name]
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
			r.Problem(path, "is missing; add, below topics, %s: {partitions: 1, %s, max_message_bytes: %d}", name, kept, least)
			continue
		}
		if single {
			between(path+".partitions", int64(t.Partitions), 1, 1)
		} else {
			between(path+".partitions", int64(t.Partitions), 1, 10_000)
		}
		if t.Compact != compact {
			r.Problem(path+".compact", "must be %t", compact)
		}
		if t.Compact && t.Retention != 0 {
			r.Problem(path+".retention", "a compacted topic has none")
		}
		between(path+".max_message_bytes", int64(t.MaxMessageBytes), least, 1<<30)
	}
	for name := range c.Topics {
		if !slices.Contains(known, name) {
			r.Problem("topics."+name, "no such topic; known: %s", strings.Join(known, ", "))
		}
	}
	process := func(path string, p Process) {
		if p.Metrics != "" {
			if err := hostPort(p.Metrics); err != nil {
				r.Problem(path+".metrics", "%v", err)
			}
		}
		if p.MemoryBytes != 0 {
			between(path+".memory_bytes", p.MemoryBytes, 16<<20, 1<<46)
		}
		between(path+".gc_percent", int64(p.GCPercent), 0, 10_000)
	}
	between("disk.pause_below", c.Disk.PauseBelow, 0, 1<<50)
	process("local", c.Local.Process)
	if c.Local.ClickHouseBytes != 0 {
		between("local.clickhouse_bytes", c.Local.ClickHouseBytes, 128<<20, 1<<46)
	}
	s := &c.Stages
	for _, stage := range []struct {
		name   string
		common Common
	}{
		{"fetch", s.Fetch.Common}, {"parse-dom", s.ParseDOM.Common}, {"critic-score", s.CriticScore.Common},
		{"feature-extract", s.FeatureExtract.Common}, {"prioritize", s.Prioritize.Common},
		{"apprentice-train", s.ApprenticeTrain.Common}, {"distill", s.Distill.Common}, {"load-clickhouse", s.LoadClickHouse.Common},
		{"archive-parquet", s.ArchiveParquet.Common},
	} {
		between("stages."+stage.name+".replicas", int64(stage.common.Replicas), 0, 1000)
		process("stages."+stage.name, stage.common.Process)
	}
	f := &s.Fetch
	between("stages.fetch.concurrency", int64(f.Concurrency), 1, 100_000)
	duration("stages.fetch.hold", f.Hold, 0, time.Hour)
	duration("stages.fetch.header_timeout", f.HeaderTimeout, time.Millisecond, time.Hour)
	duration("stages.fetch.body_timeout", f.BodyTimeout, time.Millisecond, time.Hour)
	between("stages.fetch.max_body", f.MaxBody, 1<<10, 1<<30)
	between("stages.fetch.segment_bytes", f.SegmentBytes, 1<<10, 5<<30)
	duration("stages.fetch.segment_age", f.SegmentAge, 0, time.Minute)
	duration("stages.fetch.linger", f.Linger, 0, time.Minute)
	duration("stages.fetch.robots_ttl", f.RobotsTTL, time.Second, 24*time.Hour)
	if f.Proxy != "" {
		httpURL("stages.fetch.proxy", f.Proxy)
	}
	between("stages.parse-dom.workers", int64(s.ParseDOM.Workers), 1, 1024)
	between("stages.parse-dom.cache_bytes", s.ParseDOM.CacheBytes, 0, 1<<40)
	between("stages.critic-score.workers", int64(s.CriticScore.Workers), 1, 1024)
	between("stages.feature-extract.workers", int64(s.FeatureExtract.Workers), 1, 1024)
	between("stages.prioritize.cache_bytes", s.Prioritize.CacheBytes, 1<<20, 1<<40)
	duration("stages.prioritize.retry_delay", s.Prioritize.RetryDelay, 0, 24*time.Hour)
	between("stages.prioritize.frontier_bytes", s.Prioritize.FrontierBytes, 8<<20, 1<<40)
	between("stages.prioritize.rescore_batch", int64(s.Prioritize.RescoreBatch), 1, 1_000_000)
	between("stages.apprentice-train.cache_bytes", s.ApprenticeTrain.CacheBytes, 1<<20, 1<<40)
	between("stages.distill.cache_bytes", s.Distill.CacheBytes, 1<<20, 1<<40)
	between("stages.load-clickhouse.batch_rows", int64(s.LoadClickHouse.BatchRows), 1, 10_000_000)
	duration("stages.load-clickhouse.flush", s.LoadClickHouse.Flush, time.Millisecond, time.Hour)
	a := &s.ArchiveParquet
	between("stages.archive-parquet.file_bytes", a.FileBytes, maxRecord, 1<<30)
	duration("stages.archive-parquet.file_age", a.FileAge, time.Millisecond, 24*time.Hour)
	if least := archiveMemory(a.FileBytes); a.MemoryBytes != 0 && a.MemoryBytes < least {
		r.Problem("stages.archive-parquet.memory_bytes", "is %d; with this file_bytes it must be %d at least", a.MemoryBytes, least)
	}
}

func hostPort(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" || port == "" {
		return fmt.Errorf("%q is not host:port", s)
	}
	return nil
}

// Password reads the password of an environment variable; no name means no password.
func Password(env string) (string, error) {
	if env == "" {
		return "", nil
	}
	p, ok := os.LookupEnv(env)
	if !ok {
		return "", errors.New("the environment variable " + env + " named by the pipeline file is not set")
	}
	return p, nil
}

// Keys returns the access key and the secret key of the store.
func (s S3) Keys() (access, secret string, err error) {
	access, secret = s.AccessKey, s.SecretKey
	if s.AccessKeyEnv != "" {
		if access, err = Password(s.AccessKeyEnv); err != nil {
			return "", "", err
		}
	}
	if s.SecretKeyEnv != "" {
		if secret, err = Password(s.SecretKeyEnv); err != nil {
			return "", "", err
		}
	}
	return access, secret, nil
}
