package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier/schedule"
	"forager/internal/platform/objects"
	"forager/internal/platform/registry"
	"forager/internal/rank/contextretrain"
	"forager/internal/stream"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// A guide that is trained on a crawl's own pages (schemas.Renewal) comes into use as an operator's does: its object is
// stored, it is announced, and the crawl's next control record names it. Operators write such records too, and of two
// of one revision the first counts (package controls). So the stage checks whether its own is in force, and writes
// another one with a higher revision until one is. Since its revision is higher than all that it has read, the record
// that compaction keeps is also in force.

// renewing is the state of the guide of a shard.
type renewing struct {
	pages *contextretrain.Pages
	// through is the number of pages after which a guide was due last, targets the number of targets that the last one
	// knew, and version the guide that is to be in force; empty = no guide could be made.
	through, targets uint64
	version          string
	// asked is the last revision written since the state was opened.
	asked uint64
}

func renewingKey(shard string) []byte { return append([]byte{renewingKind}, shard...) }

func (d *distiller) openRenewing(key string) (r renewing, err error) {
	if r.pages, err = contextretrain.Open(d.store, append([]byte{pagesKind, byte(len(key))}, key...)); err != nil {
		return r, err
	}
	b, ok, err := d.store.Get(renewingKey(key))
	if err != nil || !ok {
		return r, err
	}
	through, n := binary.Uvarint(b[min(1, len(b)):])
	targets, m := binary.Uvarint(b[min(1+max(0, n), len(b)):])
	if len(b) > 0 && b[0] != shardVersion {
		return r, fmt.Errorf("its guide: %w", errVersion)
	}
	if len(b) == 0 || n <= 0 || m <= 0 {
		return r, errors.New("its guide: damaged: delete the state directory to rebuild it from the topics")
	}
	r.through, r.targets, r.version = through, targets, string(b[1+n+m:])
	return r, nil
}

func (d *distiller) saveRenewing(s *shard) error {
	b := binary.AppendUvarint([]byte{shardVersion}, s.through)
	b = append(binary.AppendUvarint(b, s.targets), s.version...)
	return d.store.Set(renewingKey(schemas.ShardKey(s.crawl, s.number)), b)
}

// renew trains a new guide if one is due, and brings it into use.
func (d *distiller) renew(ctx context.Context, s *shard, res *stateful.Result) error {
	ctl := d.controls.Get(s.crawl)
	if ctl.GetRenewal() == nil || d.controls.Deleted(s.crawl) || schemas.ShardsOf(ctl) > 1 {
		return nil
	}
	pages, targets := s.renewing.pages.Pages()
	if s.through <= ctl.GetRenewal().GetPages() && schedule.RenewalDue(ctl, pages, targets) {
		version := ""
		if targets > s.targets {
			var err error
			version, err = d.remake(ctx, s, ctl, res)
			if errors.Is(err, objects.ErrUnavailable) {
				d.log.Warn("waiting", "crawl", s.crawl, "cause", err)
				res.Wake = time.Now().Add(storeRetry)
				return nil
			}
			if err != nil {
				return err
			}
		}
		s.through, s.targets, s.version = pages, targets, version
		if err := d.saveRenewing(s); err != nil {
			return err
		}
	}
	if s.through <= ctl.GetRenewal().GetPages() || ctl.GetRevision() < s.asked {
		return nil // in force, or written
	}
	return s.write(contextretrain.Next(ctl, s.through, s.version), res)
}

// remake trains the guide and announces it. If there is nothing to train on this is no error of the
// stage.
func (d *distiller) remake(ctx context.Context, s *shard, ctl *schemas.CrawlControl, res *stateful.Result) (version string, err error) {
	guide, report, err := s.renewing.pages.Train(ctx, s.crawl)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		d.log.Error("no guide could be made", "crawl", s.crawl, "error", err)
		return "", nil
	}
	data := guide.Marshal()
	m := registry.Guide(contextretrain.Name(ctl), "", data, time.Now())
	m.Crawl = s.crawl
	m.Pages, _ = s.renewing.pages.Pages()
	if err := registry.Keep(ctx, d.models, m, data); err != nil {
		return "", err
	}
	stream.Failpoint("guide-kept-before-announced")
	out, err := registry.Announcement(m)
	if err != nil {
		return "", err
	}
	res.Outs = append(res.Outs, out)
	layers := make([]int, 0, len(report.Graph.Layers))
	for _, l := range report.Graph.Layers {
		layers = append(layers, len(l))
	}
	d.log.Info("made a guide", "crawl", s.crawl, "version", m.GetVersion(), "pages", m.GetPages(), "layers", layers)
	return m.GetVersion(), nil
}

// storeRetry is the pause before the next try of the object store.
const storeRetry = time.Second

// yield repeats the end of a crawl with a revision above the last one written, so that compaction
// keeps the end.
func (s *shard) yield(ctl *schemas.CrawlControl, res *stateful.Result) error {
	if s.asked == 0 || ctl.GetRevision() > s.asked {
		return nil
	}
	again := proto.CloneOf(ctl)
	again.Revision++
	return s.write(again, res)
}

// write sends a control record.
func (s *shard) write(next *schemas.CrawlControl, res *stateful.Result) error {
	s.asked = next.Revision
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(next)
	if err != nil {
		return fmt.Errorf("control record of %s: %w", s.crawl, err)
	}
	res.Outs = append(res.Outs, stream.Out{
		Topic: schemas.TopicCrawlControl, Partition: -1, Key: []byte(s.crawl), Value: value,
		Headers: map[string]string{schemas.HeaderVersion: strconv.Itoa(schemas.Version), schemas.HeaderCrawl: s.crawl},
	})
	return nil
}
