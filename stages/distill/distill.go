package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/platform/registry"
	"forager/internal/rank/distill"
	"forager/internal/stream"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// distiller is the Processor of one partition of link.found.
type distiller struct {
	store    distill.Store
	controls *controls.Cache
	models   registry.Store
	log      *slog.Logger
	shards   map[string]*shard // by their key
	// parked are the crawls that are parked for a fault: their pages are noted and not ranked.
	parked map[string]stateful.ParkedCrawl
}

// shard is a shard of a crawl that has a distiller, or of which this is not known yet.
type shard struct {
	crawl  string
	number uint32
	graph  *distill.Graph
	// ranked is the number of pages after which hubs were ranked last. chosen: its crawl has, or
	// had, a distiller; until then pages are noted only while there is no control record.
	ranked uint64
	chosen bool
	renewing
}

// Keys of a partition's store:
//
//	's' key of the shard                  → version, ranked, chosen
//	'g' len(key) key of the shard, … → its graph
//	'r' key of the shard                  → version, the state of its guide (retrain.go)
//	'p' len(key) key of the shard, … → its pages with their words
const (
	shardKind    = 's'
	graphKind    = 'g'
	renewingKind = 'r'
	pagesKind    = 'p'
	shardVersion = 1
)

func newDistiller(store distill.Store, cache *controls.Cache, models registry.Store, log *slog.Logger) (*distiller, error) {
	d := &distiller{store: store, controls: cache, models: models, log: log, shards: make(map[string]*shard)}
	type known struct{ key, value string }
	var all []known
	err := store.Scan([]byte{shardKind}, []byte{shardKind + 1}, func(key, value []byte) (bool, error) {
		all = append(all, known{string(key[1:]), string(value)})
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	for _, k := range all {
		crawl, number, err := schemas.ParseShardKey(k.key)
		if err != nil {
			return nil, fmt.Errorf("state: %w", err)
		}
		s, err := d.add(crawl, number)
		if err != nil {
			return nil, err
		}
		if err := s.read([]byte(k.value)); err != nil {
			return nil, fmt.Errorf("state of crawl %s: %w", k.key, err)
		}
	}
	return d, nil
}

func (d *distiller) add(crawl string, number uint32) (*shard, error) {
	key := schemas.ShardKey(crawl, number)
	graph, err := distill.OpenGraph(d.store, append([]byte{graphKind, byte(len(key))}, key...))
	if errors.Is(err, distill.ErrVersion) {
		err = stateful.OtherLayout(err)
	}
	if err != nil {
		return nil, fmt.Errorf("state of crawl %s: %w", key, err)
	}
	s := &shard{crawl: crawl, number: number, graph: graph}
	if s.renewing, err = d.openRenewing(key); err != nil {
		return nil, fmt.Errorf("state of crawl %s: %w", key, err)
	}
	d.shards[key] = s
	return s, nil
}

// errVersion is the error of values that another version of the stage stored.
var errVersion = stateful.OtherLayout(errors.New("another version"))

func (s *shard) read(b []byte) error {
	ranked, n := binary.Uvarint(b[min(1, len(b)):])
	if len(b) > 0 && b[0] != shardVersion {
		return errVersion
	}
	if len(b) == 0 || n <= 0 || len(b) != n+2 || b[n+1] > 1 {
		return errors.New("damaged: delete the state directory to rebuild it from the topics")
	}
	s.ranked, s.chosen = ranked, b[n+1] == 1
	return nil
}

func (d *distiller) save(s *shard) error {
	b := binary.AppendUvarint([]byte{shardVersion}, s.ranked)
	if s.chosen {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return d.store.Set(append([]byte{shardKind}, schemas.ShardKey(s.crawl, s.number)...), b)
}

// Recover is never called: the stage has no decision log.
func (d *distiller) Recover(stream.Record) error {
	return stream.Broken(errors.New("distill decides nothing"))
}

// Step notes verdicts, and ranks shards when they are due.
func (d *distiller) Step(ctx context.Context, w stateful.Work) (stateful.Result, error) {
	var res stateful.Result
	if err := d.readRankings(&res); err != nil {
		return res, err
	}
	for _, r := range w.Records {
		if r.Skipped() {
			continue // prioritize ends its request
		}
		var s *shard
		err := stateful.GuardRecord(r.Headers[schemas.HeaderCrawl], &r, func() (err error) {
			s, err = d.take(r)
			return err
		})
		if err != nil {
			return res, err
		}
		if s != nil && !w.Replaying {
			if err := d.act(ctx, s, &res); err != nil {
				return res, err
			}
		}
	}
	if w.Replaying {
		return res, nil
	}
	for _, key := range slices.Sorted(maps.Keys(d.shards)) {
		if err := d.act(ctx, d.shards[key], &res); err != nil {
			return res, err
		}
	}
	return res, nil
}

// act ranks a shard and renews its guide, when they are due.
func (d *distiller) act(ctx context.Context, s *shard, res *stateful.Result) error {
	if _, parked := d.parked[s.crawl]; parked {
		return nil
	}
	return stateful.Guard(s.crawl, func() error {
		if err := d.rank(ctx, s, res); err != nil {
			return err
		}
		return d.renew(ctx, s, res)
	})
}

// readRankings updates the shards to crawl.control.
func (d *distiller) readRankings(res *stateful.Result) error {
	for key, s := range d.shards {
		ctl := d.controls.Get(s.crawl)
		switch {
		case ctl == nil || s.chosen && !d.controls.Deleted(s.crawl):
		case chooses(ctl) && !d.controls.Deleted(s.crawl):
			s.chosen = true
			if err := d.save(s); err != nil {
				return err
			}
		default:
			if err := s.yield(ctl, res); err != nil {
				return err
			}
			if err := d.drop(key, s); err != nil {
				return fmt.Errorf("drop crawl %s: %w", key, err)
			}
		}
	}
	return nil
}

func (d *distiller) drop(key string, s *shard) error {
	delete(d.shards, key)
	if err := errors.Join(s.graph.Drop(), s.pages.Drop(), d.store.DeleteRange(renewingKey(key), append(renewingKey(key), 0))); err != nil {
		return err
	}
	at := append([]byte{shardKind}, key...)
	return d.store.DeleteRange(at, append(at, 0))
}

// take notes one record, and returns the shard that got a page; nil = none.
func (d *distiller) take(r stream.Record) (*shard, error) {
	crawl := r.Headers[schemas.HeaderCrawl]
	if !d.noted(crawl) {
		return nil, nil
	}
	rec := new(schemas.LinkFound)
	if err := proto.Unmarshal(r.Value, rec); err != nil {
		d.skip(r, err)
		return nil, nil
	}
	key := schemas.ShardKey(crawl, rec.GetShard())
	s := d.shards[key]
	if s == nil {
		var err error
		if s, err = d.add(crawl, rec.GetShard()); err != nil {
			return nil, err
		}
		s.chosen = chooses(d.controls.Get(crawl))
		if err := d.save(s); err != nil {
			return nil, err
		}
	}
	before := s.graph.Pages()
	err := s.graph.Note(rec, r.Offset)
	if ctl := d.controls.Get(crawl); err == nil && (ctl == nil || ctl.GetRenewal() != nil) {
		err = s.pages.Note(rec, r.Offset)
	}
	if errors.Is(err, distill.ErrRecord) {
		d.skip(r, err)
		return nil, nil
	}
	if err != nil || s.graph.Pages() == before {
		return nil, err
	}
	return s, nil
}

// chooses reports whether a crawl has a distiller, or a guide that is trained on its pages.
func chooses(ctl *schemas.CrawlControl) bool { return schemas.Raises(ctl) || ctl.GetRenewal() != nil }

// noted reports whether the records of a crawl are noted: it has a distiller, or had one, or this is
// not known yet.
func (d *distiller) noted(crawl string) bool {
	ctl := d.controls.Get(crawl)
	if ctl == nil || chooses(ctl) {
		return !d.controls.Deleted(crawl)
	}
	for _, s := range d.shards {
		if s.crawl == crawl {
			return true // look drops those that are not wanted
		}
	}
	return false
}

// skip ignores a record that cannot be read. prioritize, which reads it too, ends its request.
func (d *distiller) skip(r stream.Record, cause error) {
	d.log.Error("left out", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "error", cause)
}

// rank ranks the hubs of a shard if its crawl has a distiller and there are enough pages.
func (d *distiller) rank(ctx context.Context, s *shard, res *stateful.Result) error {
	ctl := d.controls.Get(s.crawl)
	if !schemas.Raises(ctl) || distill.Boundary(s.graph.Pages(), distill.Every(ctl)) <= s.ranked {
		return nil
	}
	settings, err := distill.SettingsOf(ctl)
	if err != nil {
		return nil // prioritize refuses such a control record, and reports it
	}
	ranked, err := s.graph.Hubs(ctx, s.crawl, s.number, settings)
	if err != nil {
		return fmt.Errorf("rank the hubs of %s: %w", s.crawl, err)
	}
	out, err := hubsOut(ranked)
	if err != nil {
		return err
	}
	res.Outs = append(res.Outs, out)
	s.ranked = s.graph.Pages()
	d.log.Info("ranked", "crawl", s.crawl, "shard", s.number, "pages", ranked.GetPages(), "edges", ranked.GetEdges(),
		"hubs", len(ranked.GetHubs()), "raised", len(ranked.GetRaised())/len(schemas.ID{}), "rounds", ranked.GetRounds())
	return d.save(s)
}

func hubsOut(m *schemas.HubRanked) (stream.Out, error) {
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return stream.Out{}, fmt.Errorf("hubs of %s: %w", m.GetCrawl(), err)
	}
	return stream.Out{
		Topic: schemas.TopicHubRanked, Partition: -1, Key: []byte(schemas.ShardKey(m.GetCrawl(), m.GetShard())), Value: value,
		Headers: map[string]string{
			schemas.HeaderVersion: strconv.Itoa(schemas.Version), schemas.HeaderCrawl: m.GetCrawl(),
			schemas.HeaderShard: strconv.FormatUint(uint64(m.GetShard()), 10), schemas.HeaderID: schemas.ID(m.GetId()).String(),
		},
	}, nil
}
