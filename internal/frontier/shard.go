package frontier

import (
	"errors"
	"time"

	"forager/internal/rank"
	"forager/internal/scope"
	"forager/schemas"
)

// Model predicts Pr(high | u,v) of a link from its features; *apprentice.Model is one.
type Model interface {
	Score(features []*schemas.Feature) float64
}

// Options are what a Shard needs beside the crawl's control record.
type Options struct {
	// Epoch and Owner go into every FetchRequest.
	Epoch uint64
	Owner uint32
	// Rankers override the ranker of the policy of that name.
	Rankers map[string]rank.Ranker
	// RetryDelay is the pause before the second try of a URL; it doubles with every try.
	RetryDelay time.Duration
}

// Effects is what follows from an applied record.
type Effects struct {
	// Settled are leaps and boundaries in the order in which they must be sent.
	Settled []*schemas.LeapSettled
	// Duplicate: the record answers no request in flight and changed nothing but a counter.
	Duplicate bool
}

// Shard is one shard of a crawl. It is not safe for concurrent use. After an error it must be
// thrown away and opened again on the last state that was committed.
type Shard struct{}

var errSkeleton = errors.New("frontier: skeleton")

// Open reads a shard's state from the store; on an empty store the shard is new.
func Open(store Store, crawl string, shard uint32) (*Shard, error) { return nil, errSkeleton }

// Shards lists the shards that have state in the store.
func Shards(store Store) ([]ShardName, error) { return nil, errSkeleton }

// ShardName names a shard in a store.
type ShardName struct {
	Crawl string
	Shard uint32
}

// Configure sets the crawl's control record, at first and at every change. A revision lower
// than the last is ignored.
func (s *Shard) Configure(ctl *schemas.CrawlControl, sc *scope.Scope, o Options) error {
	return errSkeleton
}

// Model returns the version that the stored state ranks by, and the pages it was trained
// through; "" while there is none. After Open, SetModel must give this model or a newer one
// before Apply, Rescore or Dispatch.
func (s *Shard) Model() (version string, pages uint64) { return "", 0 }

// SetModel announces the newest apprentice model, trained through a number of pages; m is nil
// for a model that has learnt nothing. Every unvisited entry is scored again, by Rescore.
func (s *Shard) SetModel(version string, m Model, pages uint64) error { return errSkeleton }

// Recover takes a dispatch found in the log that the state may lack.
func (s *Shard) Recover(r *schemas.FetchRequest) error { return errSkeleton }

// Apply takes a verdict on u with the links of u, or a virtual page of seeds.
func (s *Shard) Apply(rec *schemas.LinkFound, now time.Time) (Effects, error) {
	return Effects{}, errSkeleton
}

// Dispatch chooses up to max requests, in order.
func (s *Shard) Dispatch(now time.Time, max int) ([]*schemas.FetchRequest, error) {
	return nil, errSkeleton
}

// Rescore scores up to n entries again, best first, and says whether some are left.
func (s *Shard) Rescore(n int) (more bool, err error) { return false, errSkeleton }

// Reconsider scores the named URLs again where they are unvisited: a ranker given in Options
// has changed its mind about them.
func (s *Shard) Reconsider(urls ...string) error { return errSkeleton }

// Wake returns when time alone will next make an entry ready; ok is false when none waits.
func (s *Shard) Wake(now time.Time) (at time.Time, ok bool) { return time.Time{}, false }

// Status says how the shard stands.
func (s *Shard) Status(now time.Time) *schemas.CrawlStatus { return nil }

// Finished says whether the crawl has ended, and why.
func (s *Shard) Finished() (reason string, ok bool) { return "", false }
