package metrics

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// sampleEvery is the distance of records whose times are kept.
const sampleEvery = 64

// Ages are the ages of the oldest records of partitions that were read and are not dealt with. They are computed when they are
// asked for, as they grow while a stage stands still.
type Ages struct {
	description *prometheus.Desc
	mu          sync.Mutex
	all         map[*Age]struct{}
}

// Age is that of a partition. It is safe for concurrent use.
type Age struct {
	ages      *Ages
	topic     string
	partition int

	mu sync.Mutex
	// read are the times of some records that were read, by offset; next is the offset below which all are dealt with, end follows the
	// last that was read.
	read      []timed
	next, end int64
}

type timed struct {
	offset int64
	at     time.Time
}

func newAges() *Ages {
	return &Ages{all: make(map[*Age]struct{}), description: prometheus.NewDesc("forager_stage_oldest_record_age_seconds",
		"Age of the oldest record of a partition that was read and is not dealt with yet; 0 = there is none.", []string{"topic", "partition"}, nil)}
}

// Of returns the age of a partition, which is exported until Close.
func (x *Ages) Of(topic string, partition int) *Age {
	a := &Age{ages: x, topic: topic, partition: partition}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all[a] = struct{}{}
	return a
}

// Close ends the export.
func (a *Age) Close() {
	a.ages.mu.Lock()
	defer a.ages.mu.Unlock()
	delete(a.ages.all, a)
}

// Read notes n records that were read, in the order of their offsets.
func (a *Age) Read(n int, record func(i int) (offset int64, at time.Time)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range n {
		offset, at := record(i)
		if i%sampleEvery == 0 {
			a.read = append(a.read, timed{offset, at})
		}
		a.end = offset + 1
	}
	a.forget()
}

// Done notes the offset below which all records are dealt with.
func (a *Age) Done(next int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next = next
	a.forget()
}

// forget drops what is dealt with.
func (a *Age) forget() {
	drop := 0
	for drop < len(a.read) && (a.next >= a.end || drop+1 < len(a.read) && a.read[drop+1].offset <= a.next) {
		drop++
	}
	a.read = append(a.read[:0], a.read[drop:]...)
}

// seconds is the age at a time, at most some records too high.
func (a *Age) seconds(now time.Time) float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.read) == 0 {
		return 0
	}
	return max(0, now.Sub(a.read[0].at).Seconds())
}

// Describe implements prometheus.Collector.
func (x *Ages) Describe(to chan<- *prometheus.Desc) { to <- x.description }

// Collect implements prometheus.Collector.
func (x *Ages) Collect(to chan<- prometheus.Metric) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now, oldest := time.Now(), make(map[[2]string]float64) // a partition may be of two generations for a moment
	for a := range x.all {
		labels := [2]string{a.topic, strconv.Itoa(a.partition)}
		oldest[labels] = max(oldest[labels], a.seconds(now))
	}
	for labels, seconds := range oldest {
		to <- prometheus.MustNewConstMetric(x.description, prometheus.GaugeValue, seconds, labels[:]...)
	}
}
