package stagemain

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/crawl/controls"
	"forager/internal/platform/objects"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/runner"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// Stage declares a stage: what it reads and writes, and how it is made.
type Stage struct {
	Name string
	// Inputs are the topics whose records the replicas of the stage share, as a consumer group.
	Inputs []string
	// Follows are the topics that every replica reads whole: to their ends before it begins, and from then on while it runs.
	Follows []string
	// Outputs are the topics that it writes, in addition to dead.letter.
	Outputs []string
	// Objects: the stage uses the object store.
	Objects bool
	// New makes the logic of the stage.
	New func(ctx context.Context, env *Env) (*Logic, error)
}

// Logic is what a stage does with its records.
type Logic struct {
	// Follow has a function for each of Stage.Follows. Errors are those of kafka.Client.Follow.
	Follow map[string]func(stream.Record) error
	// Metrics are registered.
	Metrics []prometheus.Collector
	// Serve has what the stage serves next to its metrics, by pattern (Env.serve); nil = nothing.
	Serve map[string]http.Handler
	// Run handles the inputs: Stateless, Stateful, Batched or Unordered.
	Run Runner
	// Close is called at the end; nil = nothing.
	Close func()
}

// Runner handles the inputs of a stage until ctx ends (nil) or something is broken.
type Runner func(ctx context.Context, s *Stage, env *Env) error

// Stateless runs a stage without state. The declaration has its name and inputs, here and below.
func Stateless(x runner.Stateless) Runner {
	return func(ctx context.Context, s *Stage, env *Env) error {
		x.Stage, x.Inputs = s.Name, s.Inputs
		return x.Run(ctx, env.Kafka)
	}
}

// Stateful runs a stage with a store for each partition of its only input, below the state directory. If the stage uses the object store,
// snapshots of its state are kept there.
func Stateful(x stateful.Stage) Runner {
	return func(ctx context.Context, s *Stage, env *Env) error {
		x.Stage, x.Input = s.Name, s.Inputs[0]
		if c := env.Config.Snapshots; c.Every > 0 && env.Objects != nil {
			x.Snapshots = &stateful.Snapshots{Bucket: env.Objects, Every: c.Every, Rate: c.Rate}
		}
		return x.Run(ctx, env.Kafka, env.StateDir)
	}
}

// ByControls returns the logic of a stage with state that follows the control records of crawls. A partition makes a step when one has
// changed, and tries a parked crawl again under a newer one. Records gather for linger while none of the crawls is awaited.
func ByControls(x stateful.Stage, cache *controls.Cache, awaited func(*schemas.CrawlControl) bool, linger time.Duration) *Logic {
	x.Linger = func(int) time.Duration {
		if slices.ContainsFunc(cache.Crawls(), func(crawl string) bool { return awaited(cache.Get(crawl)) && !cache.Deleted(crawl) }) {
			return 0
		}
		return linger
	}
	x.Revision = func(crawl string) uint64 { return cache.Get(crawl).GetRevision() }
	x.Notify = func(int) (<-chan struct{}, func()) { return cache.Subscribe() }
	return &Logic{Follow: map[string]func(stream.Record) error{schemas.TopicCrawlControl: KeyValue(cache.Take)}, Run: Stateful(x)}
}

// Batched runs a stage that handles records in batches.
func Batched(x runner.Batched) Runner {
	return func(ctx context.Context, s *Stage, env *Env) error {
		x.Stage, x.Inputs = s.Name, s.Inputs
		return x.Run(ctx, env.Kafka)
	}
}

// Unordered runs a stage that handles the records of its only input in any order.
func Unordered(x runner.Unordered) Runner {
	return func(ctx context.Context, s *Stage, env *Env) error {
		x.Stage, x.Input = s.Name, s.Inputs[0]
		return x.Run(ctx, env.Kafka)
	}
}

// KeyValue returns a function for Logic.Follow that takes keys and values only.
func KeyValue(take func(key, value []byte) error) func(stream.Record) error {
	return func(r stream.Record) error { return take(r.Key, r.Value) }
}

// Run runs the stage until ctx ends (nil) or something is broken.
func (s Stage) Run(ctx context.Context, env *Env) error {
	e := *env
	var err error
	if s.Objects {
		if e.Objects, err = objects.Open(e.Config.S3); err != nil {
			return err
		}
	}
	if e.Kafka, err = kafka.Dial(e.Config.Kafka, e.Config.Topics, e.Log, e.Metrics); err != nil {
		return err
	}
	defer e.Kafka.Close()
	logic, err := s.New(ctx, &e)
	if err != nil {
		return err
	}
	if logic.Close != nil {
		defer logic.Close()
	}
	for _, c := range logic.Metrics {
		if err := e.Metrics.Register(c); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
	}
	if len(logic.Serve) > 0 {
		stop, err := e.serve(ctx, logic.Serve)
		if err != nil {
			return err
		}
		defer stop()
	}
	if len(logic.Follow) != len(s.Follows) {
		return fmt.Errorf("%s follows %d topics and declares %d", s.Name, len(logic.Follow), len(s.Follows))
	}
	for _, topic := range s.Follows {
		f, err := e.Kafka.Follow(ctx, topic, logic.Follow[topic])
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		defer f.Close()
	}
	return logic.Run(ctx, &s, &e)
}
