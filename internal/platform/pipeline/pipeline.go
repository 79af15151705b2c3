package pipeline

import (
	"io"
	"log/slog"
	"time"
)

// Config is pipeline.yaml: where the parts are, how topics are set up, and the settings of every process. Load reads and checks it.
//
// The tags of the fields are their documentation: default, range (both as in the file), unit, and help. Settings, Load and
// docs/settings.md use them.
type Config struct {
	Data       string           `yaml:"data" default:"build/data" help:"folder of state, logs and the files of the embedded parts; relative to the folder of this file"`
	Memory     int64            `yaml:"memory" unit:"bytes" default:"0" range:"0..64TiB" help:"memory of all processes of the machine, divided among them; 0 = the normal memory of each, without a bound on the sum"`
	LogFormat  string           `yaml:"log_format" default:"text" help:"text, or json: an object a line, of every stage and the embedded parts"`
	Kafka      Kafka            `yaml:"kafka"`
	S3         S3               `yaml:"s3"`
	ClickHouse ClickHouse       `yaml:"clickhouse"`
	Disk       Disk             `yaml:"disk"`
	Snapshots  Snapshots        `yaml:"snapshots"`
	Local      Local            `yaml:"local"`
	Stages     Stages           `yaml:"stages"`
	Topics     map[string]Topic `yaml:"topics"`

	shares []memoryShare
}

// Kafka has the settings of clients of the broker.
type Kafka struct {
	Brokers        []string      `yaml:"brokers" help:"addresses of the broker, each host:port; loopback addresses are those of the embedded broker"`
	Partitions     int           `yaml:"partitions" default:"4" range:"1..10000" help:"partitions of each topic that several replicas of a stage share; fixed once forager setup has made the topics"`
	TLS            TLS           `yaml:"tls"`
	SASL           SASL          `yaml:"sasl"`
	Replication    int           `yaml:"replication" default:"1" range:"1..100" help:"replication factor of topics that forager setup creates"`
	SessionTimeout time.Duration `yaml:"session_timeout" default:"10s" range:"1s..30m" help:"session timeout of consumer groups: the partitions of a killed member move after it"`
	Group          string        `yaml:"group" default:"forager" help:"prefix of the names of consumer groups (forager gives forager.parse-dom)"`

	embedded embedded
}

// TLS has the settings of encrypted connections.
type TLS struct {
	Enabled bool   `yaml:"enabled" default:"false" help:"connect with TLS"`
	CA      string `yaml:"ca" help:"PEM file of certificates to trust in addition to those of the system"`
}

// SASL is a user of the broker.
type SASL struct {
	Mechanism   string `yaml:"mechanism" help:"scram-sha-256, scram-sha-512 or plain; empty = none"`
	User        string `yaml:"user" help:"name of the user"`
	PasswordEnv string `yaml:"password_env" help:"environment variable with the password"`
}

// S3 is the object store. Keys of the embedded store are generated.
type S3 struct {
	Endpoint     string `yaml:"endpoint" help:"http://host:port or https://host; a loopback address is that of the embedded store"`
	Region       string `yaml:"region" default:"us-east-1" help:"region of the requests"`
	Bucket       string `yaml:"bucket" default:"forager" help:"bucket of all objects"`
	AccessKey    string `yaml:"access_key" secret:"true" help:"access key; access_key_env takes precedence"`
	SecretKey    string `yaml:"secret_key" secret:"true" help:"secret key; secret_key_env takes precedence"`
	AccessKeyEnv string `yaml:"access_key_env" help:"environment variable with the access key"`
	SecretKeyEnv string `yaml:"secret_key_env" help:"environment variable with the secret key"`

	embedded embedded
}

// ClickHouse is the HTTP interface of a ClickHouse server.
type ClickHouse struct {
	URL         string `yaml:"url" help:"http://host:port or https://host:port; a loopback address is that of the embedded server"`
	Database    string `yaml:"database" default:"forager" help:"database of all tables"`
	User        string `yaml:"user" default:"default" help:"name of the user"`
	PasswordEnv string `yaml:"password_env" help:"environment variable with the password"`

	embedded embedded
}

// Log returns a logger that writes in the format of log_format.
func (c *Config) Log(w io.Writer) *slog.Logger {
	if c.LogFormat == logJSON {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

const logJSON = "json"

// Disk has the space that must be left below the data folder.
type Disk struct {
	PauseBelow int64 `yaml:"pause_below" unit:"bytes" default:"1GiB" range:"0..1024TiB" help:"free space below the data folder under which crawls pause; 0 = never; requests in flight and merges of ClickHouse still take some hundred MiB"`
}

// Snapshots are copies of the state of stages in the object store.
type Snapshots struct {
	Every time.Duration `yaml:"every" default:"5m" range:"0s..24h" help:"time between two snapshots of a partition's state of prioritize, apprentice-train and distill; a process that has lost its state replays what came after the newest; 0 = none"`
	Rate  int64         `yaml:"rate" unit:"bytes" default:"32MiB" range:"0..64GiB" help:"bytes of snapshots that a process sends in a second at most; 0 = any"`
}

// Local are the settings of the embedded parts, which share a process.
type Local struct {
	Process         `yaml:",inline"`
	ClickHouseBytes int64 `yaml:"clickhouse_bytes" unit:"bytes" default:"0" range:"0..64TiB" help:"share of memory_bytes for inserts, merges, queries and caches of ClickHouse, 128MiB at least; 0 = up to half of the machine, in addition to memory_bytes"`
}

// Topic has the settings of a topic.
type Topic struct {
	Partitions      int           `yaml:"partitions" range:"1..10000" help:"number of partitions"`
	Compact         bool          `yaml:"compact" help:"only the last record of a key is kept; fixed for each topic"`
	Retention       time.Duration `yaml:"retention" range:"0s..876000h" help:"age at which records are deleted; 0 = never; not for compacted topics"`
	MaxMessageBytes int           `yaml:"max_message_bytes" unit:"bytes" help:"largest record that the topic accepts"`
}

// Stages holds the settings of each stage.
type Stages struct {
	Fetch           Fetch           `yaml:"fetch"`
	ParseDOM        ParseDOM        `yaml:"parse-dom"`
	CriticScore     CriticScore     `yaml:"critic-score"`
	FeatureExtract  FeatureExtract  `yaml:"feature-extract"`
	Prioritize      Prioritize      `yaml:"prioritize"`
	ApprenticeTrain ApprenticeTrain `yaml:"apprentice-train"`
	Distill         Distill         `yaml:"distill"`
	LoadClickHouse  LoadClickHouse  `yaml:"load-clickhouse"`
	ArchiveParquet  ArchiveParquet  `yaml:"archive-parquet"`
	Monitor         Monitor         `yaml:"monitor"`
}

// named is the common part of the settings of a stage.
type named struct {
	name   string
	common *Common
}

// all returns the common settings of the stages, in the order in which a page passes them.
func (s *Stages) all() []named {
	return []named{
		{"fetch", &s.Fetch.Common},
		{"parse-dom", &s.ParseDOM.Common},
		{"critic-score", &s.CriticScore.Common},
		{"feature-extract", &s.FeatureExtract.Common},
		{"prioritize", &s.Prioritize.Common},
		{"apprentice-train", &s.ApprenticeTrain.Common},
		{"distill", &s.Distill.Common},
		{"load-clickhouse", &s.LoadClickHouse.Common},
		{"archive-parquet", &s.ArchiveParquet.Common},
		{"monitor", &s.Monitor.Common},
	}
}

// Common returns the common settings of a stage; the zero value for an unknown stage.
func (s *Stages) Common(stage string) Common {
	for _, x := range s.all() {
		if x.name == stage {
			return *x.common
		}
	}
	return Common{}
}

// Process are the settings that every program has.
type Process struct {
	Metrics     string `yaml:"metrics" help:"host:port of the Prometheus endpoint; replica n has the port + n; empty = none"`
	Profiles    bool   `yaml:"profiles" default:"false" help:"serve the profiles of Go next to the metrics, to any client of the address; profiling costs time"`
	MemoryBytes int64  `yaml:"memory_bytes" unit:"bytes" range:"0..64TiB" help:"soft limit of the memory of each process, of which Go gets all but 32MiB: the nearer it is, the more often garbage is collected; 0 = none; takes precedence over memory"`
	GCPercent   int    `yaml:"gc_percent" range:"0..10000" help:"growth of the heap beyond what is in use before it is collected, in per cent; 0 = 100, the default of Go"`
}

// Common settings of every stage.
type Common struct {
	Process  `yaml:",inline"`
	Replicas int `yaml:"replicas" default:"1" range:"0..1000" help:"processes that forager up starts; they share the partitions of their topics"`
}

// Fetch are the settings of the stage fetch.
type Fetch struct {
	Common        `yaml:",inline"`
	Concurrency   int           `yaml:"concurrency" default:"64" range:"1..100000" help:"largest number of requests in progress, of each process"`
	Hold          time.Duration `yaml:"hold" default:"30s" range:"0s..1h" help:"longest time that a request waits in memory for its host; a longer wait is deferred"`
	HeaderTimeout time.Duration `yaml:"header_timeout" default:"20s" range:"1ms..1h" help:"time until the header of a response"`
	BodyTimeout   time.Duration `yaml:"body_timeout" default:"1m" range:"1ms..1h" help:"time for the whole response"`
	MaxBody       int64         `yaml:"max_body" unit:"bytes" default:"4MiB" range:"1KiB..1GiB" help:"size at which a body is cut, after decoding; concurrency times as much may be in memory"`
	SegmentBytes  int64         `yaml:"segment_bytes" unit:"bytes" default:"64MiB" range:"1KiB..5GiB" help:"size at which a WARC segment is closed; 3 times as much may be in memory"`
	SegmentAge    time.Duration `yaml:"segment_age" default:"250ms" range:"0s..1m" help:"age at which a WARC segment is closed"`
	Linger        time.Duration `yaml:"linger" default:"20ms" range:"0s..1m" help:"time that outputs, and a segment when nothing else is being fetched, wait for others in flight; a request alone in flight does not wait"`
	Proxy         string        `yaml:"proxy" help:"HTTP proxy for every request, http://host:port; empty = none"`
	Resolver      string        `yaml:"resolver" help:"DNS server for the hosts of URLs, address:port; empty = that of the machine"`
	AllowPrivate  Hosts         `yaml:"allow_private" help:"networks and hosts with private addresses that may be fetched, such as [10.1.0.0/16, intranet.example]; addresses of the pipeline's own parts never are"`
	RobotsTTL     time.Duration `yaml:"robots_ttl" default:"24h" range:"1s..24h" help:"time for which robots.txt is kept (RFC 9309, section 2.4)"`
}

// ParseDOM are the settings of the stage parse-dom.
type ParseDOM struct {
	Common     `yaml:",inline"`
	Workers    int   `yaml:"workers" default:"2" range:"1..1024" help:"pages processed at once, in each process"`
	CacheBytes int64 `yaml:"cache_bytes" unit:"bytes" default:"16MiB" range:"0..1TiB" help:"parts of segments that are kept in memory; less than 1MiB keeps none"`
}

// CriticScore are the settings of the stage critic-score.
type CriticScore struct {
	Common  `yaml:",inline"`
	Workers int `yaml:"workers" default:"2" range:"1..1024" help:"pages processed at once, in each process"`
}

// FeatureExtract are the settings of the stage feature-extract.
type FeatureExtract struct {
	Common  `yaml:",inline"`
	Workers int `yaml:"workers" default:"2" range:"1..1024" help:"pages processed at once, in each process"`
}

// Prioritize are the settings of the stage prioritize.
type Prioritize struct {
	Common        `yaml:",inline"`
	Address       string        `yaml:"address" help:"host:port of metrics, as commands and the monitor reach it from other machines to ask about URLs; every address of the name is asked; empty = on this machine"`
	CacheBytes    int64         `yaml:"cache_bytes" unit:"bytes" default:"64MiB" range:"1MiB..1TiB" help:"block cache of Pebble, shared by all partitions of the process"`
	FrontierBytes int64         `yaml:"frontier_bytes" unit:"bytes" default:"160MiB" range:"8MiB..1TiB" help:"links, hosts and queues of the frontiers in memory, and what rankers learn from verdicts; the rest is in Pebble, whose write buffer of each partition is an eighth of it, up to 64MiB"`
	RetryDelay    time.Duration `yaml:"retry_delay" default:"30s" range:"0s..24h" help:"time before the second try of a URL; it doubles with every try"`
	RescoreBatch  int           `yaml:"rescore_batch" default:"2048" range:"1..1000000" help:"entries scored again between two reads of the input"`
}

// ApprenticeTrain are the settings of the stage apprentice-train.
type ApprenticeTrain struct {
	Common     `yaml:",inline"`
	CacheBytes int64 `yaml:"cache_bytes" unit:"bytes" default:"32MiB" range:"1MiB..1TiB" help:"block cache of Pebble, shared by all partitions of the process"`
}

// Distill are the settings of the stage distill.
type Distill struct {
	Common     `yaml:",inline"`
	CacheBytes int64 `yaml:"cache_bytes" unit:"bytes" default:"16MiB" range:"1MiB..1TiB" help:"block cache of Pebble, shared by all partitions of the process"`
}

// LoadClickHouse are the settings of the stage load-clickhouse.
type LoadClickHouse struct {
	Common    `yaml:",inline"`
	BatchRows int           `yaml:"batch_rows" default:"50000" range:"1..10000000" help:"rows at which a batch is inserted"`
	Flush     time.Duration `yaml:"flush" default:"1s" range:"1ms..1h" help:"age at which a batch is inserted"`
}

// ArchiveParquet are the settings of the stage archive-parquet.
type ArchiveParquet struct {
	Common    `yaml:",inline"`
	FileBytes int64         `yaml:"file_bytes" unit:"bytes" default:"32MiB" range:"4MiB..1GiB" help:"size of a batch of records, of all partitions of the process, which is written as one file a partition; memory_bytes must be 64MiB and 6 times as much at least"`
	FileAge   time.Duration `yaml:"file_age" default:"1m" range:"1ms..24h" help:"longest wait of the first record of a batch"`
}

// Monitor are the settings of the stage monitor.
type Monitor struct {
	Common   `yaml:",inline"`
	Address  string `yaml:"address" default:"127.0.0.1:18080" help:"host:port of the web page and the API; replica n has the port + n; beyond loopback token_env, tls_cert and tls_key are required"`
	TokenEnv string `yaml:"token_env" help:"environment variable with the token that the page and the API require, 16 characters at least; empty = one is generated, in a file below DATA/secrets"`
	TLSCert  string `yaml:"tls_cert" help:"file of the certificate, with those of its issuers, PEM; empty = no TLS, on loopback only"`
	TLSKey   string `yaml:"tls_key" help:"file of the certificate's private key, PEM"`

	StalledAfter time.Duration `yaml:"stalled_after" default:"1m" range:"1s..24h" help:"time without a charged request after which a crawl that something hinders is reported as stalled"`
	Webhooks     Webhooks      `yaml:"webhooks" default:"[]" help:"receivers of events, each {url, events, crawls, harvest_below, secret}; events: any of finished, stalled, harvest-below and dead-letters, all by default; crawls: a pattern, such as news-*, all by default; harvest_below: the bound of harvest-below, 0..1; secret: signs requests, also as secret_env, an environment variable, or secret_file"`
}

// archiveMemory returns the least memory_bytes of archive-parquet: the program and the decompressed
// fetch responses, and six times file_bytes for the records being written, the next ones being
// read, the file that is read back, and garbage.
func archiveMemory(fileBytes int64) int64 { return 64<<20 + 6*fileBytes }
