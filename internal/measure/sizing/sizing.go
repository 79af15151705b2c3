package sizing

import "math"

// Crawl is what a crawl reads and finds, in all.
type Crawl struct {
	// Pages delivered, Requests sent, Bytes of the pages after decoding.
	Pages    float64 `json:"pages"`
	Requests float64 `json:"requests"`
	Bytes    float64 `json:"bytes"`
	// Links found, Leaps settled, that is links whose target has a verdict, Featured of which have features, URLs known.
	Links    float64 `json:"links"`
	Leaps    float64 `json:"leaps"`
	Featured float64 `json:"featured"`
	URLs     float64 `json:"urls"`
}

// cost is what one request, page, byte of a page and so on cost; a linear function of a crawl. Featured leaps cost more by featured.
type cost struct{ request, page, byte, link, leap, featured, url float64 }

func (k cost) of(c Crawl) float64 {
	return k.request*c.Requests + k.page*c.Pages + k.byte*c.Bytes + k.link*c.Links + k.leap*c.Leaps + k.featured*c.Featured + k.url*c.URLs
}

// Stored returns the bytes that a crawl adds to topics ("topic NAME"), the bucket ("s3 FOLDER"), the tables ("clickhouse") and the state of
// stages ("state STAGE"), compressed as they are stored, once.
func (c Crawl) Stored() map[string]float64 {
	bytes := make(map[string]float64, len(storedBytes))
	for name, k := range storedBytes {
		bytes[name] = k.of(c)
	}
	return bytes
}

// CPU returns the CPU time of each stage, and of broker, S3 and ClickHouse together ("backends"), in seconds.
func (c Crawl) CPU() map[string]float64 {
	seconds := make(map[string]float64, len(cpuMillis))
	for name, k := range cpuMillis {
		seconds[name] = k.of(c) / 1000
	}
	return seconds
}

// Month is a crawl of thirty days with the machines for it.
type Month struct {
	Crawl
	// Hosts that it visits evenly, Delay between two requests to one, seconds.
	Hosts, Delay float64
	// Cores of a machine, and the share of their time that is planned for.
	Cores, Busy float64
	// Replication of Kafka's topics.
	Replication float64
}

// Seconds of a month.
const Seconds = 30 * 24 * 3600

// Plan is what a month takes.
type Plan struct {
	// PagesPerSecond and RequestsPerSecond on average.
	PagesPerSecond    float64 `json:"pages_per_second"`
	RequestsPerSecond float64 `json:"requests_per_second"`
	// HostSeconds is how long the requests to one host take with their pauses; more than Seconds: there are too few hosts.
	HostSeconds float64 `json:"host_seconds"`
	// Slots are requests under way in fetch, all replicas together.
	Slots int `json:"slots"`
	// Processors that are busy on average, by stage, and the processes that are planned for them.
	Processors map[string]float64 `json:"processors"`
	Processes  map[string]int     `json:"processes"`
	// Machines for stages and backends.
	Machines int `json:"machines"`
	// Partitions of each topic between stages, KafkaWrites bytes a second with replicas, KafkaDisk bytes of all brokers.
	Partitions  int     `json:"partitions"`
	KafkaWrites float64 `json:"kafka_writes_per_second"`
	KafkaDisk   float64 `json:"kafka_disk"`
	// S3 has the bytes that a month adds; S3Snapshots those that snapshots take at any time.
	S3          float64 `json:"s3_bytes"`
	S3Snapshots float64 `json:"s3_snapshots"`
	// S3Writes are objects written a second, at most.
	S3Writes   float64 `json:"s3_writes_per_second"`
	ClickHouse float64 `json:"clickhouse_bytes"`
	// State is the disk of stages, all replicas together, with space for compactions.
	State float64 `json:"state_disk"`
}

const (
	// response is how long a web server takes on average with the transfer, seconds: it decides about slots only.
	response = 2
	// spare is the share by which disks are larger than what they hold.
	spare = 1.3
	// compaction is the space that compactions and snapshots of state take besides it.
	compaction = 2
	// kept are the snapshots in the bucket.
	kept = 3
	// segments are the WARC segments that a process of fetch stores a second at full load; those that are not at full load
	// store one a page at most.
	segments = 15
)

// pageTopics are kept for a day, the others for the whole month.
var pageTopics = map[string]bool{"topic page.fetched": true, "topic page.parsed": true, "topic page.judged": true}

// Size computes what a month takes.
func Size(m Month) Plan {
	p := Plan{
		PagesPerSecond: m.Pages / Seconds, RequestsPerSecond: m.Requests / Seconds, HostSeconds: m.Requests / m.Hosts * (m.Delay + response),
		Slots: int(math.Ceil(m.Requests / Seconds * response)), Processors: make(map[string]float64), Processes: make(map[string]int),
	}
	total, most := 0.0, 1
	for name, seconds := range m.CPU() {
		used := seconds / Seconds
		p.Processors[name] = used
		total += used
		if name != "backends" {
			// A process is planned to use one processor: steps of a partition follow one another.
			p.Processes[name] = max(1, int(math.Ceil(used/m.Busy)))
			most = max(most, p.Processes[name])
		}
	}
	p.Machines = max(1, int(math.Ceil(total/m.Busy/m.Cores)))
	p.Partitions = max(4, 2*most)
	for name, bytes := range m.Stored() {
		switch name[:2] {
		case "to":
			p.KafkaWrites += bytes / Seconds * m.Replication
			if pageTopics[name] {
				bytes /= 30
			}
			p.KafkaDisk += bytes * m.Replication * spare
		case "s3":
			p.S3 += bytes
		case "cl":
			p.ClickHouse += bytes * spare
		case "st":
			p.State += bytes * compaction
			p.S3Snapshots += bytes * kept
		}
	}
	p.S3Writes = min(p.PagesPerSecond, segments*float64(p.Processes["fetch"]))
	return p
}
