package main

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"forager/internal/frontier"
	"forager/internal/frontier/state"
	"forager/internal/frontier/why"
	"forager/internal/platform/disk"
	"forager/internal/platform/stagemain"
	"forager/internal/rank/apprentice"
	"forager/internal/stream"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

const name = "prioritize"

var stage = stagemain.Stage{
	Name:    name,
	Inputs:  []string{schemas.TopicLinkFound},
	Follows: []string{schemas.TopicCrawlControl, schemas.TopicModelPublished, schemas.TopicHubRanked, schemas.TopicCrawlStatus},
	Outputs: []string{schemas.TopicFetchRequested, schemas.TopicLeapSettled, schemas.TopicCrawlStatus, schemas.TopicLinkFound, schemas.TopicCrawlControl},
	Objects: true,
	New:     newLogic,
}

func main() { stagemain.Main(stage) }

func newLogic(ctx context.Context, env *stagemain.Env) (*stagemain.Logic, error) {
	partitions, err := env.Kafka.Partitions(ctx, schemas.TopicLinkFound)
	if err != nil {
		return nil, err
	}
	readModel := func(b []byte) (frontier.Model, error) { return apprentice.Unmarshal(b) }
	conf := env.Config.Stages.Prioritize
	space := disk.NewWatch(func() []string { return disk.Folders(env.Config.Data) }, uint64(env.Config.Disk.PauseBelow), disk.Free,
		func(s disk.State, err error) { logDisk(env.Log, s, err) })
	book := newCache()
	s := settings{
		book: book, library: newLibrary(env.Objects.Get, readModel, book.notify, env.Log), partitions: partitions,
		retryDelay: conf.RetryDelay, rescoreBatch: conf.RescoreBatch, disk: space, memory: newMemory(conf.FrontierBytes), log: env.Log,
	}
	explain := newExplainer(book, partitions, env.Objects.Get, conf.Metrics)
	return &stagemain.Logic{
		Serve: map[string]http.Handler{
			"GET " + why.Path: explain, "POST " + why.RefusedPath: explain, "POST " + why.ExcludesPath: explain, "GET " + why.QueuedPath: explain,
		},
		Follow: map[string]func(stream.Record) error{
			schemas.TopicCrawlControl: book.control, schemas.TopicModelPublished: book.model, schemas.TopicHubRanked: book.hub,
			schemas.TopicCrawlStatus: book.status,
		},
		Run: stagemain.Stateful(stateful.Stage{
			Log: schemas.TopicFetchRequested, Layout: strconv.Itoa(state.Layout), CacheBytes: conf.CacheBytes, MemTable: memTable(conf.FrontierBytes), Hits: true,
			Notify: book.subscribe, Linger: rest,
			Revision: func(crawl string) uint64 { return book.controls.Get(crawl).GetRevision() },
			Open: func(partition int, epoch uint64, kv *stateful.Store) (stateful.Processor, error) {
				s := s
				s.parked = kv.Parked()
				explain.opened(partition, kv)
				return s.open(partition, epoch, kv)
			},
		}),
	}, nil
}

// rest is how long to wait for further verdicts after a number of them: a step, with its requests to the broker, its look for
// newer owners and its commit, costs about as much as the verdicts of a dozen pages. If few requests are
// in flight, verdicts come one by one, and none waits.
func rest(verdicts int) time.Duration {
	if verdicts < 4 {
		return 0
	}
	return 20 * time.Millisecond
}
