package pipeline

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"forager/internal/platform/strictyaml"
	"forager/schemas"
)

// topic is a topic of a pipeline.
type topic struct {
	name string
	Topic
	// single: the topic must have one partition.
	single bool
}

// topics are the topics of a pipeline with their defaults; 0 partitions = kafka.partitions. Each topic of a pipeline file is one of them.
var topics = []topic{
	{schemas.TopicCrawlControl, Topic{Partitions: 1, Compact: true, MaxMessageBytes: maxRecord}, true},
	{schemas.TopicCrawlStatus, Topic{Partitions: 1, Compact: true, MaxMessageBytes: maxRecord}, false},
	{schemas.TopicFetchRequested, Topic{Retention: month, MaxMessageBytes: maxRecord}, false},
	{schemas.TopicFetchTurn, Topic{Partitions: 1, Retention: 3 * time.Hour, MaxMessageBytes: maxRecord}, true},
	{schemas.TopicPageFetched, Topic{Retention: 24 * time.Hour, MaxMessageBytes: maxRecord}, false},
	{schemas.TopicPageParsed, Topic{Retention: 24 * time.Hour, MaxMessageBytes: maxRecord}, false},
	{schemas.TopicPageJudged, Topic{Retention: 24 * time.Hour, MaxMessageBytes: maxRecord}, false},
	{schemas.TopicPageRejudged, Topic{Partitions: 1, Retention: month, MaxMessageBytes: maxRecord}, false},
	{schemas.TopicLinkFound, Topic{Retention: month, MaxMessageBytes: maxRecord}, false},
	{schemas.TopicLeapSettled, Topic{Retention: month, MaxMessageBytes: maxRecord}, false},
	{schemas.TopicModelPublished, Topic{Partitions: 1, Compact: true, MaxMessageBytes: maxRecord}, true},
	{schemas.TopicHubRanked, Topic{Partitions: 1, Compact: true, MaxMessageBytes: maxRecord}, true},
	{schemas.TopicDeadLetter, Topic{Partitions: 1, Retention: month, MaxMessageBytes: 2 * maxRecord}, false},
}

const month = 720 * time.Hour

// TopicNames returns the topics of a pipeline.
func TopicNames() []string {
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = t.name
	}
	return names
}

// topicDefault returns the default of a field of a topic's settings, as the file may have it.
func topicDefault(name, field string) string {
	i := slices.IndexFunc(topics, func(t topic) bool { return t.name == name })
	v := reflect.ValueOf(topics[i].Topic).FieldByName(field)
	if field == "Partitions" && v.Int() == 0 {
		return "kafka.partitions"
	}
	return Setting{value: v}.String()
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
	if c.LogFormat != "text" && c.LogFormat != logJSON {
		k.Problem("log_format", "%q is neither text nor json", c.LogFormat)
	}
	k.kafka(&c.Kafka)
	k.httpURL("s3.endpoint", c.S3.Endpoint)
	k.need("s3.bucket", c.S3.Bucket)
	k.httpURL("clickhouse.url", c.ClickHouse.URL)
	k.need("clickhouse.database", c.ClickHouse.Database)
	k.topics(c.Topics)
	k.ranges(c)
	k.process("local", c.Local.Process)
	for _, stage := range c.Stages.all() {
		k.process("stages."+stage.name, stage.common.Process)
	}
	if c.Local.ClickHouseBytes != 0 {
		k.between("local.clickhouse_bytes", c.Local.ClickHouseBytes, 128<<20, 1<<46)
	}
	if f := &c.Stages.Fetch; f.Proxy != "" {
		k.httpURL("stages.fetch.proxy", f.Proxy)
	}
	if f := &c.Stages.Fetch; f.Resolver != "" {
		if _, err := netip.ParseAddrPort(f.Resolver); err != nil {
			k.Problem("stages.fetch.resolver", "%q is not address:port, such as 127.0.0.1:53", f.Resolver)
		}
	}
	if a := c.Stages.Prioritize.Address; a != "" {
		if err := hostPort(a); err != nil {
			k.Problem("stages.prioritize.address", "%v", err)
		}
	}
	k.hosts("stages.fetch.allow_private", c.Stages.Fetch.AllowPrivate)
	k.monitor(&c.Stages.Monitor)
	if a := &c.Stages.ArchiveParquet; a.MemoryBytes != 0 && a.MemoryBytes < archiveMemory(a.FileBytes) {
		k.Problem("stages.archive-parquet.memory_bytes", "is %d; with this file_bytes it must be %d at least", a.MemoryBytes, archiveMemory(a.FileBytes))
	}
}

// monitor requires a token and TLS of an address that others than this machine can reach.
func (k checks) monitor(m *Monitor) {
	const path = "stages.monitor."
	k.webhooks(path+"webhooks", m.Webhooks)
	if err := hostPort(m.Address); err != nil {
		k.Problem(path+"address", "%v", err)
		return
	}
	if (m.TLSCert == "") != (m.TLSKey == "") {
		k.Problem(path+"tls_cert", "tls_cert and tls_key belong together")
	}
	if host, _, _ := net.SplitHostPort(m.Address); !Loopback(host) {
		for name, value := range map[string]string{"token_env": m.TokenEnv, "tls_cert": m.TLSCert, "tls_key": m.TLSKey} {
			if value == "" {
				k.Problem(path+name, "is missing, and address is no loopback address")
			}
		}
	}
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
	for _, known := range topics {
		t := have[known.name]
		path := "topics." + known.name
		if known.single {
			k.between(path+".partitions", int64(t.Partitions), 1, 1)
		}
		if t.Compact != known.Compact {
			k.Problem(path+".compact", "must be %t", known.Compact)
		}
		if t.Compact && t.Retention != 0 {
			k.Problem(path+".retention", "a compacted topic has none")
		}
		k.between(path+".max_message_bytes", int64(t.MaxMessageBytes), int64(known.MaxMessageBytes), 1<<30)
	}
	known := TopicNames()
	for name := range have {
		if !slices.Contains(known, name) {
			k.Problem("topics."+name, "no such topic; known: %s", strings.Join(known, ", "))
		}
	}
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
}
