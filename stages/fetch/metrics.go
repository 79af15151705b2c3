package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"forager/internal/platform/segment"
)

// metrics of the stage, in addition to those of package stream/metrics. Labels are bounded: outcomes and
// results.
type metrics struct {
	requests, robots, skipped *prometheus.CounterVec
	wait, answer, upload      prometheus.Histogram
	bytes, hungUp             prometheus.Counter
	segments, segmentBytes    prometheus.Counter
	storeAway, unreachable    prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer, schedule *scheduler) *metrics {
	const namespace, subsystem = "forager", "fetch"
	made := promauto.With(reg)
	seconds := prometheus.ExponentialBuckets(1e-3, 2.5, 12)
	counter := func(name, help string) prometheus.Counter {
		return made.NewCounter(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help})
	}
	vec := func(name, help, label string) *prometheus.CounterVec {
		return made.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, []string{label})
	}
	histogram := func(name, help string) prometheus.Histogram {
		return made.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help, Buckets: seconds})
	}
	gauge := func(name, help string, value func() int) {
		made.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, func() float64 {
			return float64(value())
		})
	}
	count := func(which int) func() int {
		return func() int {
			var n [3]int
			n[0], n[1], n[2] = schedule.counts()
			return n[which]
		}
	}
	gauge("hosts", "Hosts whose politeness is kept.", count(0))
	gauge("parked_requests", "Requests that wait in memory for their host or a slot.", count(1))
	gauge("under_way_requests", "Requests under way.", count(2))
	gauge("slot_waiting_requests", "Requests that wait for nothing but a slot: their hosts may be requested now.", schedule.unslotted)
	return &metrics{
		requests:     vec("requests_total", "Requests answered, by outcome.", "outcome"),
		robots:       vec("robots_total", "robots.txt asked for: read, none (everything allowed), damaged (read in part), unreachable, refused.", "result"),
		skipped:      vec("skipped_total", "Requests not begun: answered (by an earlier owner of the partition), duplicate.", "reason"),
		wait:         histogram("wait_seconds", "Time from a request's arrival to its begin."),
		answer:       histogram("answer_seconds", "Time from a request's begin to the last byte of its answer."),
		upload:       histogram("segment_store_seconds", "Time to store a segment, back-off included."),
		bytes:        counter("body_bytes_total", "Bytes of bodies read, after decoding."),
		hungUp:       counter("hung_up_total", "Kept connections that broke before the answer; the request was asked again behind its host's pause."),
		segments:     counter("segments_total", "Segments stored."),
		segmentBytes: counter("segment_bytes_total", "Bytes of segments stored."),
		storeAway: made.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: "store_waiting",
			Help: "Uploads that wait for the object store to come back."}),
		unreachable: made.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: "network_unreachable",
			Help: "1 while requests are held because the proxy, the resolver or many sites in a row cannot be reached."}),
	}
}

func (m *metrics) stored(s segment.Stored) {
	m.segments.Inc()
	m.segmentBytes.Add(float64(s.Bytes))
	m.upload.Observe(s.Duration.Seconds())
}

func (m *metrics) waiting(on bool) {
	if on {
		m.storeAway.Inc()
	} else {
		m.storeAway.Dec()
	}
}
