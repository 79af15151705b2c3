package pipeline

import "time"

// Config is pipeline.yaml: where the parts are, how topics are set up, and the settings of
// every stage. Load reads and checks it.
type Config struct {
	// Data is the folder of state, logs and the embedded parts' files; relative to the folder
	// of pipeline.yaml.
	Data       string           `yaml:"data"`
	Kafka      Kafka            `yaml:"kafka"`
	S3         S3               `yaml:"s3"`
	ClickHouse ClickHouse       `yaml:"clickhouse"`
	Topics     map[string]Topic `yaml:"topics"`
	Disk       Disk             `yaml:"disk"`
	Local      Local            `yaml:"local"`
	Stages     Stages           `yaml:"stages"`
}

// Kafka has the settings of clients of the broker.
type Kafka struct {
	Brokers []string `yaml:"brokers"`
	TLS     TLS      `yaml:"tls"`
	SASL    SASL     `yaml:"sasl"`
	// Replication is the replication factor of topics that setup creates.
	Replication int `yaml:"replication"`
	// SessionTimeout of consumer groups; a killed member's partitions move after it.
	SessionTimeout time.Duration `yaml:"session_timeout"`
	// Group is the prefix of consumer group names ("forager" gives forager.parse-dom).
	Group string `yaml:"group"`

	embedded embedded
}

// TLS switches on TLS; CA is a PEM file with certificates to trust in addition to the system's.
type TLS struct {
	Enabled bool   `yaml:"enabled"`
	CA      string `yaml:"ca"`
}

// SASL is a user of the broker; empty Mechanism = none. The password is read from the environment
// variable PasswordEnv.
type SASL struct {
	Mechanism   string `yaml:"mechanism"` // scram-sha-256, scram-sha-512, plain
	User        string `yaml:"user"`
	PasswordEnv string `yaml:"password_env"`
}

// S3 is the object store. Keys come from the environment variables named, or else from AccessKey and SecretKey; those
// of the embedded store are generated.
type S3 struct {
	Endpoint     string `yaml:"endpoint"` // http://host:port or https://host
	Region       string `yaml:"region"`
	Bucket       string `yaml:"bucket"`
	AccessKey    string `yaml:"access_key"`
	SecretKey    string `yaml:"secret_key"`
	AccessKeyEnv string `yaml:"access_key_env"`
	SecretKeyEnv string `yaml:"secret_key_env"`

	embedded embedded
}

// ClickHouse is the HTTP interface of a ClickHouse server.
type ClickHouse struct {
	URL         string `yaml:"url"` // http://host:port or https://host:port
	Database    string `yaml:"database"`
	User        string `yaml:"user"`
	PasswordEnv string `yaml:"password_env"`

	embedded embedded
}

// Disk has the space that must be left below the data folder.
type Disk struct {
	// PauseBelow, in bytes: with less, nothing new is fetched until there is more; 0 = no limit.
	PauseBelow int64 `yaml:"pause_below"`
}

// Local are the settings of the embedded parts, which share a process.
type Local struct {
	Process `yaml:",inline"`
	// ClickHouseBytes is the share of MemoryBytes that ClickHouse may take for inserts, merges, queries and
	// caches; it refuses what would need more. 0 = as much as it wants, up to half of the machine's memory, in
	// addition to MemoryBytes.
	ClickHouseBytes int64 `yaml:"clickhouse_bytes"`
}

// Topic has the settings of a topic.
type Topic struct {
	Partitions int  `yaml:"partitions"`
	Compact    bool `yaml:"compact"`
	// Retention of records; 0 = without limit. Not for compacted topics.
	Retention time.Duration `yaml:"retention"`
	// MaxMessageBytes is the topic's max.message.bytes.
	MaxMessageBytes int `yaml:"max_message_bytes"`
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
}

// Common returns the common settings of a stage; the zero value for an unknown stage.
func (s *Stages) Common(stage string) Common {
	return map[string]Common{
		"fetch": s.Fetch.Common, "parse-dom": s.ParseDOM.Common, "critic-score": s.CriticScore.Common,
		"feature-extract": s.FeatureExtract.Common, "prioritize": s.Prioritize.Common,
		"apprentice-train": s.ApprenticeTrain.Common, "distill": s.Distill.Common, "load-clickhouse": s.LoadClickHouse.Common,
		"archive-parquet": s.ArchiveParquet.Common,
	}[stage]
}

// Process are the settings that every program has.
type Process struct {
	// Metrics is the address of the Prometheus endpoint; empty = none.
	Metrics string `yaml:"metrics"`
	// Profiles serves Go's profiles next to the metrics: any client of the address can then see what the process does,
	// and profiling costs time.
	Profiles bool `yaml:"profiles"`
	// MemoryBytes is a soft limit of the process's memory, of which Go gets all but 32 MiB: the nearer it is, the
	// more often garbage is collected. It bounds the garbage, not the memory in use; 0 = none.
	MemoryBytes int64 `yaml:"memory_bytes"`
	// GCPercent is how far the heap grows beyond what is in use before it is collected, in per cent of
	// that: more costs memory and saves time. 0 = Go's own, 100. The default is 200 for stages that use
	// little memory.
	GCPercent int `yaml:"gc_percent"`
}

// Common settings of every stage.
type Common struct {
	Process `yaml:",inline"`
	// Replicas that `forager up` starts.
	Replicas int `yaml:"replicas"`
}

// Fetch are the settings of the stage fetch.
type Fetch struct {
	Common `yaml:",inline"`
	// Concurrency is the largest number of requests in progress, of the process.
	Concurrency int `yaml:"concurrency"`
	// Hold is the time a request may wait in memory for its host; a longer wait is deferred.
	Hold time.Duration `yaml:"hold"`
	// HeaderTimeout is the time until the response header, BodyTimeout that for the whole response.
	HeaderTimeout time.Duration `yaml:"header_timeout"`
	BodyTimeout   time.Duration `yaml:"body_timeout"`
	// MaxBody is the size at which a body is cut, bytes after decoding.
	MaxBody int64 `yaml:"max_body"`
	// SegmentBytes and SegmentAge close a WARC segment.
	SegmentBytes int64         `yaml:"segment_bytes"`
	SegmentAge   time.Duration `yaml:"segment_age"`
	// Linger is how long outputs, and a segment when nothing else is being fetched, wait for others
	// in flight, for fewer and larger writes. A request that is alone in flight does not wait.
	Linger time.Duration `yaml:"linger"`
	// Proxy is an HTTP proxy for every request ("http://127.0.0.1:8080"); empty = none.
	Proxy string `yaml:"proxy"`
	// AllowPrivate are the private networks and hosts that may be fetched.
	AllowPrivate Hosts `yaml:"allow_private"`
	// RobotsTTL is how long robots.txt is kept (RFC 9309 §2.4: at most 24 h).
	RobotsTTL time.Duration `yaml:"robots_ttl"`
}

// ParseDOM are the settings of the stage parse-dom.
type ParseDOM struct {
	Common  `yaml:",inline"`
	Workers int `yaml:"workers"`
	// CacheBytes bounds the parts of segments that are kept in memory; less than 1 MiB keeps none.
	CacheBytes int64 `yaml:"cache_bytes"`
}

// CriticScore are the settings of the stage critic-score.
type CriticScore struct {
	Common  `yaml:",inline"`
	Workers int `yaml:"workers"`
}

// FeatureExtract are the settings of the stage feature-extract.
type FeatureExtract struct {
	Common  `yaml:",inline"`
	Workers int `yaml:"workers"`
}

// Prioritize are the settings of the stage prioritize.
type Prioritize struct {
	Common `yaml:",inline"`
	// CacheBytes is Pebble's block cache, shared by all partitions of the process.
	CacheBytes int64 `yaml:"cache_bytes"`
	// FrontierBytes bounds what the process keeps in memory of its crawls' frontiers; the rest is
	// in Pebble, whose write buffer of each partition is an eighth of it, up to 64 MiB.
	FrontierBytes int64 `yaml:"frontier_bytes"`
	// RetryDelay is the pause before the second try of a URL; it doubles with every try.
	RetryDelay time.Duration `yaml:"retry_delay"`
	// RescoreBatch is the number of entries scored again between two reads of the input.
	RescoreBatch int `yaml:"rescore_batch"`
}

// ApprenticeTrain are the settings of the stage apprentice-train.
type ApprenticeTrain struct {
	Common     `yaml:",inline"`
	CacheBytes int64 `yaml:"cache_bytes"`
}

// Distill are the settings of the stage distill.
type Distill struct {
	Common     `yaml:",inline"`
	CacheBytes int64 `yaml:"cache_bytes"`
}

// LoadClickHouse are the settings of the stage load-clickhouse.
type LoadClickHouse struct {
	Common    `yaml:",inline"`
	BatchRows int           `yaml:"batch_rows"`
	Flush     time.Duration `yaml:"flush"`
}

// ArchiveParquet are the settings of the stage archive-parquet.
type ArchiveParquet struct {
	Common `yaml:",inline"`
	// FileBytes is the size of a batch of records, of all partitions of the process, which is
	// written as one file a partition; FileAge is the longest wait of its first record.
	FileBytes int64         `yaml:"file_bytes"`
	FileAge   time.Duration `yaml:"file_age"`
}

// archiveMemory returns the least memory_bytes of archive-parquet: the program and the decompressed
// fetch responses, and six times file_bytes for the records being written, the next ones being
// read, the file that is read back, and garbage.
func archiveMemory(fileBytes int64) int64 { return 64<<20 + 6*fileBytes }
