package stream

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of a process, which runs one stage. Labels are bounded: topics, partitions, classes.
type metrics struct {
	health
	in, out, poison, void, skipped *prometheus.CounterVec
	errors                         *prometheus.CounterVec
	lag                            *prometheus.GaugeVec
	waiting                        prometheus.Gauge
	parked                         *prometheus.GaugeVec
	handle                         prometheus.Histogram
	generations                    prometheus.Counter
}

// newMetrics returns metrics that are registered, unless reg is nil.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "forager", Subsystem: "stage", Name: name, Help: help}, labels)
	}
	m := &metrics{
		in:      counter("records_in_total", "Records read from an input topic.", "topic"),
		out:     counter("records_out_total", "Records acknowledged by the broker.", "topic"),
		poison:  counter("poison_total", "Records that went to dead.letter.", "topic"),
		void:    counter("void_total", "Records that were void behind an epoch marker.", "topic"),
		skipped: counter("skipped_total", "Records of followed topics that cannot be read and are without effect.", "topic"),
		errors:  counter("errors_total", "Errors by what was done about them: record (tried again or poison), unavailable (waited), lost (generation over), broken (stopped).", "class"),
		lag: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "forager", Subsystem: "stage", Name: "lag_records",
			Help: "Records of a partition that are not dealt with yet."}, []string{"topic", "partition"}),
		parked: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "forager", Subsystem: "stage", Name: "parked_records",
			Help: "Records of a crawl that wait for an object that is missing; absent where none does."}, []string{"topic", "partition", "crawl", "object"}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "forager", Subsystem: "stage", Name: "waiting",
			Help: "Waits under way for something unavailable (broker, store, model); 0 = none."}),
		handle: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "forager", Subsystem: "stage", Name: "handle_seconds",
			Help: "Time that the stage's logic took for one record.", Buckets: prometheus.ExponentialBuckets(1e-4, 4, 10)}),
		generations: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "forager", Subsystem: "stage", Name: "generations_total",
			Help: "Generations of the consumer group that this process took part in."}),
	}
	// Rates and increases need the value before the first error.
	for _, class := range []class{perRecord, unavailable, lost, broken} {
		m.errors.WithLabelValues(class.String())
	}
	if reg == nil {
		return m, nil
	}
	state := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "forager", Subsystem: "stage", Name: name, Help: help}, value)
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.in, m.out, m.poison, m.void, m.skipped, m.errors, m.lag, m.parked, m.waiting, m.handle, m.generations,
		state("ready", "1 if the process is a member of its consumer group and the state of its partitions is restored.", m.ready),
		state("busy_seconds", "Age of the oldest step in progress; 0 while something unavailable is waited for.", m.busy),
	} {
		errs = append(errs, reg.Register(c))
	}
	return m, errors.Join(errs...)
}

// wait notes the beginning (1) or the end (-1) of a wait for something unavailable.
func (m *metrics) wait(n int) {
	m.waiting.Add(float64(n))
	m.health.wait(n)
}

// failed counts an error.
func (m *metrics) failed(class class) { m.errors.WithLabelValues(class.String()).Inc() }
