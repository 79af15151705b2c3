package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/stream"
)

// Stage has the metrics of a process, which runs one stage. Labels are bounded: topics, partitions, classes.
type Stage struct {
	health
	In, Out, Poison, Void, Skipped *prometheus.CounterVec
	Errors                         *prometheus.CounterVec
	Lag                            *prometheus.GaugeVec
	Waiting                        prometheus.Gauge
	Parked                         *prometheus.GaugeVec
	Handle                         prometheus.Histogram
	Generations                    prometheus.Counter
	Ages                           *Ages
	// Snapshots counts them by result, made or failed, and SnapshotsUnfit those that could not be restored, by reason.
	Snapshots, SnapshotsUnfit    *prometheus.CounterVec
	SnapshotTime                 *prometheus.GaugeVec
	SnapshotBytes, StateRestored prometheus.Counter
}

// New returns metrics that are registered, unless reg is nil.
func New(reg prometheus.Registerer) (*Stage, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "forager", Subsystem: "stage", Name: name, Help: help}, labels)
	}
	m := &Stage{
		Ages:    newAges(),
		In:      counter("records_in_total", "Records read from an input topic.", "topic"),
		Out:     counter("records_out_total", "Records acknowledged by the broker.", "topic"),
		Poison:  counter("poison_total", "Records that went to dead.letter.", "topic"),
		Void:    counter("void_total", "Records that were void behind an epoch marker.", "topic"),
		Skipped: counter("skipped_total", "Records of followed topics that cannot be read and are without effect.", "topic"),
		Errors:  counter("errors_total", "Errors by what was done about them: record (tried again or poison), unavailable (waited), lost (generation over), broken (stopped).", "class"),
		Lag: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "forager", Subsystem: "stage", Name: "lag_records",
			Help: "Records of a partition that are not dealt with yet."}, []string{"topic", "partition"}),
		Parked: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "forager", Subsystem: "stage", Name: "parked_records",
			Help: "Records of a crawl that wait for an object that is missing; absent where none does."}, []string{"topic", "partition", "crawl", "object"}),
		Waiting: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "forager", Subsystem: "stage", Name: "waiting",
			Help: "Waits under way for something unavailable (broker, store, model); 0 = none."}),
		Handle: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "forager", Subsystem: "stage", Name: "handle_seconds",
			Help: "Time that the stage's logic took for one record.", Buckets: prometheus.ExponentialBuckets(1e-4, 4, 10)}),
		Generations: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "forager", Subsystem: "stage", Name: "generations_total",
			Help: "Generations of the consumer group that this process took part in."}),
	}
	m.snapshots(counter)
	// Rates and increases need the value before the first error.
	for _, class := range []stream.Class{stream.ClassRecord, stream.ClassUnavailable, stream.ClassLost, stream.ClassBroken} {
		m.Errors.WithLabelValues(class.String())
	}
	if reg == nil {
		return m, nil
	}
	state := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "forager", Subsystem: "stage", Name: name, Help: help}, value)
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.In, m.Out, m.Poison, m.Void, m.Skipped, m.Errors, m.Lag, m.Parked, m.Waiting, m.Handle, m.Generations, m.Ages,
		m.Snapshots, m.SnapshotsUnfit, m.SnapshotTime, m.SnapshotBytes, m.StateRestored,
		state("ready", "1 if the process is a member of its consumer group and the state of its partitions is restored.", m.ready),
		state("busy_seconds", "Age of the oldest step in progress; 0 while something unavailable is waited for.", m.busy),
	} {
		errs = append(errs, reg.Register(c))
	}
	return m, errors.Join(errs...)
}

// snapshots makes the metrics of snapshots of state.
func (m *Stage) snapshots(counter func(name, help string, labels ...string) *prometheus.CounterVec) {
	m.Snapshots = counter("snapshots_total", "Snapshots of the state of a partition, by result: made or failed (tried again later).", "result")
	m.SnapshotsUnfit = counter("snapshots_unfit_total", "Snapshots that could not be restored, by reason.", "reason")
	m.SnapshotTime = prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "forager", Subsystem: "stage", Name: "snapshot_timestamp_seconds",
		Help: "When a snapshot last had the whole state of a partition, or the partition was taken over, Unix time."}, []string{"topic", "partition"})
	m.SnapshotBytes = prometheus.NewCounter(prometheus.CounterOpts{Namespace: "forager", Subsystem: "stage", Name: "snapshot_bytes_total",
		Help: "Bytes of snapshots that were sent to the object store."})
	m.StateRestored = prometheus.NewCounter(prometheus.CounterOpts{Namespace: "forager", Subsystem: "stage", Name: "state_restored_total",
		Help: "Partitions whose state was restored from a snapshot."})
	for _, result := range []string{"made", "failed"} {
		m.Snapshots.WithLabelValues(result)
	}
}

// Wait notes the beginning (1) or the end (-1) of a wait for something unavailable.
func (m *Stage) Wait(n int) {
	m.Waiting.Add(float64(n))
	m.health.wait(n)
}

// Failed counts an error.
func (m *Stage) Failed(class stream.Class) { m.Errors.WithLabelValues(class.String()).Inc() }
