package pipeline

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"forager/schemas"
)

// Problem is one thing wrong with a pipeline file.
type Problem struct {
	// Path of the field ("stages.fetch.hold"), and its line, 0 where it is missing.
	Path string
	Line int
	// Message says what is wrong and what would be right.
	Message string
}

// Error is everything wrong with a pipeline file.
type Error struct {
	File     string
	Problems []Problem
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d problem(s)", e.File, len(e.Problems))
	for _, p := range e.Problems {
		b.WriteString("\n  ")
		if p.Line > 0 {
			fmt.Fprintf(&b, "line %d: ", p.Line)
		}
		if p.Path != "" {
			b.WriteString(p.Path + ": ")
		}
		b.WriteString(p.Message)
	}
	return b.String()
}

// Load reads the pipeline file at path. Data is made absolute, relative to the file's
// folder. What is wrong with the content comes as *Error with every problem.
func Load(path string) (*Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the pipeline file: %w", err)
	}
	c, problems := parse(b)
	if len(problems) > 0 {
		return nil, &Error{File: path, Problems: problems}
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

func parse(b []byte) (*Config, []Problem) {
	c := defaults()
	d := &decoder{lines: make(map[string]int)}
	var root yaml.Node
	if err := yaml.Unmarshal(b, &root); err != nil {
		return nil, []Problem{{Message: "not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}}
	}
	if len(root.Content) > 0 {
		d.decode(root.Content[0], reflect.ValueOf(c).Elem(), "")
	}
	d.validate(c)
	slices.SortStableFunc(d.problems, func(a, b Problem) int { return a.Line - b.Line })
	return c, d.problems
}

// decoder lays YAML over a struct and collects problems instead of stopping at the first.
type decoder struct {
	problems []Problem
	lines    map[string]int // path → line
}

func (d *decoder) problem(path, format string, args ...any) {
	d.problems = append(d.problems, Problem{Path: path, Line: d.lines[path], Message: fmt.Sprintf(format, args...)})
}

func (d *decoder) decode(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.lines[path] = n.Line
	switch {
	case v.Kind() == reflect.Struct:
		d.fields(n, path, func(key, at string, child *yaml.Node) {
			f, ok := field(v, key)
			if !ok {
				d.problem(at, "unknown field; known here: %s", strings.Join(fieldNames(v.Type()), ", "))
				return
			}
			d.decode(child, f, at)
		})
	case v.Kind() == reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		d.fields(n, path, func(key, at string, child *yaml.Node) {
			element := reflect.New(v.Type().Elem()).Elem()
			if old := v.MapIndex(reflect.ValueOf(key)); old.IsValid() {
				element.Set(old)
			}
			d.decode(child, element, at)
			v.SetMapIndex(reflect.ValueOf(key), element)
		})
	default:
		if n.Tag == "!!null" {
			d.problem(path, "is empty; give a value or leave the field out")
			return
		}
		if err := n.Decode(v.Addr().Interface()); err != nil {
			d.problem(path, "%q is not %s", n.Value, kindName(v.Type()))
		}
	}
}

// fields calls f for each key of a mapping, once.
func (d *decoder) fields(n *yaml.Node, path string, f func(key, at string, child *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.problem(path, "wants fields (key: value)")
		return
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, child := n.Content[i].Value, n.Content[i+1]
		at := key
		if path != "" {
			at = path + "." + key
		}
		d.lines[at] = n.Content[i].Line
		if seen[key] {
			d.problem(at, "is given twice")
			continue
		}
		seen[key] = true
		f(key, at, child)
	}
}

func field(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		name, inline := tag(v.Type().Field(i))
		if inline {
			if f, ok := field(v.Field(i), key); ok {
				return f, true
			}
		} else if name == key {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		name, inline := tag(t.Field(i))
		if inline {
			names = append(names, fieldNames(t.Field(i).Type)...)
		} else {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func tag(f reflect.StructField) (name string, inline bool) {
	name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name, options == "inline"
}

func kindName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return `a duration ("250ms", "30s", "24h")`
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return "a whole number"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Slice:
		return "a list"
	}
	return "a text"
}

// defaults are what a pipeline file need not say.
func defaults() *Config {
	one := Common{Replicas: 1}
	return &Config{
		Data:       "build/data",
		Kafka:      Kafka{Group: "forager", Replication: 1, SessionTimeout: 10 * time.Second},
		S3:         S3{Region: "us-east-1", Bucket: "forager"},
		ClickHouse: ClickHouse{Database: "forager", User: "default"},
		Stages: Stages{
			Fetch: Fetch{
				Common: one, Concurrency: 64, Hold: 30 * time.Second,
				HeaderTimeout: 20 * time.Second, BodyTimeout: time.Minute, MaxBody: 4 << 20,
				SegmentBytes: 64 << 20, SegmentAge: 250 * time.Millisecond, RobotsTTL: 24 * time.Hour,
			},
			ParseDOM:        ParseDOM{Common: one, Workers: 2},
			CriticScore:     CriticScore{Common: one, Workers: 2},
			FeatureExtract:  FeatureExtract{Common: one, Workers: 2},
			Prioritize:      Prioritize{Common: one, CacheBytes: 64 << 20, RetryDelay: 30 * time.Second, RescoreBatch: 512},
			ApprenticeTrain: ApprenticeTrain{Common: one, CacheBytes: 32 << 20},
			LoadClickHouse:  LoadClickHouse{Common: one, BatchRows: 50_000, Flush: time.Second},
		},
	}
}

// TopicNames are the topics a pipeline file must set up.
func TopicNames() []string {
	return []string{
		schemas.TopicCrawlControl, schemas.TopicCrawlStatus, schemas.TopicFetchRequested,
		schemas.TopicPageFetched, schemas.TopicPageParsed, schemas.TopicPageJudged,
		schemas.TopicLinkFound, schemas.TopicLeapSettled, schemas.TopicModelPublished,
		schemas.TopicDeadLetter,
	}
}

// maxRecord is the size that records keep under (4 MiB); topics must take it.
const maxRecord = 4 << 20

func (d *decoder) validate(c *Config) {
	need := func(path, value string) {
		if value == "" {
			d.problem(path, "is missing")
		}
	}
	between := func(path string, value, low, high int64) {
		if value < low || value > high {
			d.problem(path, "is %d; it must lie between %d and %d", value, low, high)
		}
	}
	duration := func(path string, value, low, high time.Duration) {
		if value < low || value > high {
			d.problem(path, "is %s; it must lie between %s and %s", value, low, high)
		}
	}
	httpURL := func(path, value string) {
		if value == "" {
			d.problem(path, "is missing")
			return
		}
		u, err := url.Parse(value)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			d.problem(path, "%q is not an http:// or https:// address", value)
		}
	}
	need("data", c.Data)
	if len(c.Kafka.Brokers) == 0 {
		d.problem("kafka.brokers", "is missing; name at least one host:port")
	}
	for i, b := range c.Kafka.Brokers {
		if err := hostPort(b); err != nil {
			d.problem("kafka.brokers", "number %d: %v", i+1, err)
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
		d.problem("kafka.sasl.mechanism", "%q is not one of plain, scram-sha-256, scram-sha-512", c.Kafka.SASL.Mechanism)
	}
	httpURL("s3.endpoint", c.S3.Endpoint)
	need("s3.bucket", c.S3.Bucket)
	httpURL("clickhouse.url", c.ClickHouse.URL)
	need("clickhouse.database", c.ClickHouse.Database)

	known := TopicNames()
	for _, name := range known {
		t, ok := c.Topics[name]
		path := "topics." + name
		if !ok {
			d.problem(path, "is missing")
			continue
		}
		single := name == schemas.TopicCrawlControl || name == schemas.TopicModelPublished
		compact := single || name == schemas.TopicCrawlStatus
		if single {
			between(path+".partitions", int64(t.Partitions), 1, 1)
		} else {
			between(path+".partitions", int64(t.Partitions), 1, 10_000)
		}
		if t.Compact != compact {
			d.problem(path+".compact", "must be %t", compact)
		}
		if t.Compact && t.Retention != 0 {
			d.problem(path+".retention", "a compacted topic has none")
		}
		least := int64(maxRecord)
		if name == schemas.TopicDeadLetter {
			least = 2 * maxRecord
		}
		between(path+".max_message_bytes", int64(t.MaxMessageBytes), least, 1<<30)
	}
	for name := range c.Topics {
		if !slices.Contains(known, name) {
			d.problem("topics."+name, "no such topic; known: %s", strings.Join(known, ", "))
		}
	}
	s := &c.Stages
	for _, stage := range []struct {
		name   string
		common Common
	}{
		{"fetch", s.Fetch.Common}, {"parse-dom", s.ParseDOM.Common}, {"critic-score", s.CriticScore.Common},
		{"feature-extract", s.FeatureExtract.Common}, {"prioritize", s.Prioritize.Common},
		{"apprentice-train", s.ApprenticeTrain.Common}, {"load-clickhouse", s.LoadClickHouse.Common},
	} {
		between("stages."+stage.name+".replicas", int64(stage.common.Replicas), 0, 1000)
		if stage.common.Metrics != "" {
			if err := hostPort(stage.common.Metrics); err != nil {
				d.problem("stages."+stage.name+".metrics", "%v", err)
			}
		}
	}
	f := &s.Fetch
	between("stages.fetch.concurrency", int64(f.Concurrency), 1, 100_000)
	duration("stages.fetch.hold", f.Hold, 0, time.Hour)
	duration("stages.fetch.header_timeout", f.HeaderTimeout, time.Millisecond, time.Hour)
	duration("stages.fetch.body_timeout", f.BodyTimeout, time.Millisecond, time.Hour)
	between("stages.fetch.max_body", f.MaxBody, 1<<10, 1<<30)
	between("stages.fetch.segment_bytes", f.SegmentBytes, 1<<10, 5<<30)
	duration("stages.fetch.segment_age", f.SegmentAge, 0, time.Minute)
	duration("stages.fetch.robots_ttl", f.RobotsTTL, time.Second, 24*time.Hour)
	if f.Proxy != "" {
		httpURL("stages.fetch.proxy", f.Proxy)
	}
	between("stages.parse-dom.workers", int64(s.ParseDOM.Workers), 1, 1024)
	between("stages.critic-score.workers", int64(s.CriticScore.Workers), 1, 1024)
	between("stages.feature-extract.workers", int64(s.FeatureExtract.Workers), 1, 1024)
	between("stages.prioritize.cache_bytes", s.Prioritize.CacheBytes, 1<<20, 1<<40)
	duration("stages.prioritize.retry_delay", s.Prioritize.RetryDelay, 0, 24*time.Hour)
	between("stages.prioritize.rescore_batch", int64(s.Prioritize.RescoreBatch), 1, 1_000_000)
	between("stages.apprentice-train.cache_bytes", s.ApprenticeTrain.CacheBytes, 1<<20, 1<<40)
	between("stages.load-clickhouse.batch_rows", int64(s.LoadClickHouse.BatchRows), 1, 10_000_000)
	duration("stages.load-clickhouse.flush", s.LoadClickHouse.Flush, time.Millisecond, time.Hour)
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
