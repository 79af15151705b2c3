package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/objects"
	"forager/internal/rank/apprentice"
	"forager/internal/stream"
	"forager/schemas"
)

// ErrOther means that the object of a model's name has other bytes than those of the digest in the name.
var ErrOther = errors.New("bytes that do not match the digest in the model's name")

// Store is the part of *objects.Store that the package uses.
type Store interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, r io.Reader, size int64) error
}

// Apprentice returns the announcement and the bytes of a learner's model, trained for a crawl with
// a critic, up to the record of leap.settled at offset through, when pages were delivered. It fixes
// the learner's cut.
func Apprentice(crawl, critic string, learner apprentice.Learner, pages uint64, through int64, now time.Time) (*schemas.ModelPublished, []byte) {
	facts := learner.Model().Facts() // fixes the cut, which is part of the bytes
	data := learner.Marshal()
	m := &schemas.ModelPublished{
		Kind: "apprentice", Crawl: crawl, Critic: critic, TrainedThrough: through, Pages: pages, Leaps: facts.Leaps,
		Measures: map[string]float64{
			"cut": facts.Cut, "low": float64(facts.Low), "high": float64(facts.High), "features": float64(facts.Features),
			"median_low": facts.MedianLow, "median_high": facts.MedianHigh,
		},
		CreatedAt: now.UnixMilli(),
	}
	if by := learner.Settings(); by.Count != schemas.Counting_COUNTING_RAW || by.Smooth > 0 {
		m.Measures["count"], m.Measures["smooth"] = float64(by.Count), float64(by.Smooth)
	}
	describe(m, crawl+"/"+strconv.FormatUint(pages, 10)+"-", data)
	return m, data
}

// Critic returns the announcement of a critic.
func Critic(name string, data []byte, measures map[string]float64, now time.Time) *schemas.ModelPublished {
	m := &schemas.ModelPublished{Kind: "critic", Measures: measures, CreatedAt: now.UnixMilli()}
	describe(m, name+"/", data)
	return m
}

// Guide returns the announcement of a guide; critic is the version of the critic that it was made for,
// empty if it fits any.
func Guide(name, critic string, data []byte, now time.Time) *schemas.ModelPublished {
	m := &schemas.ModelPublished{Kind: "guide", Critic: critic, CreatedAt: now.UnixMilli()}
	describe(m, name+"/", data)
	return m
}

// Backlinks returns the announcement of a source of backlinks.
func Backlinks(name string, data []byte, now time.Time) *schemas.ModelPublished {
	m := &schemas.ModelPublished{Kind: "backlinks", CreatedAt: now.UnixMilli()}
	describe(m, name+"/", data)
	return m
}

// describe sets the fields that follow from the bytes.
func describe(m *schemas.ModelPublished, prefix string, data []byte) {
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	m.Version, m.Digest, m.Size = prefix+digest[:12], "sha256:"+digest, uint64(len(data))
	m.Object = schemas.ModelObject(m.Kind, m.Version)
}

// Keep stores the bytes of a model. The name has their digest: an object that exists is the same
// model, or the error is ErrOther. Other errors are the store's.
func Keep(ctx context.Context, store Store, m *schemas.ModelPublished, data []byte) error {
	err := store.Put(ctx, m.GetObject(), bytes.NewReader(data), int64(len(data)))
	if errors.Is(err, objects.ErrExists) {
		var there []byte
		if there, err = store.Get(ctx, m.GetObject()); err == nil && !bytes.Equal(there, data) {
			return fmt.Errorf("object %s: %w", m.GetObject(), ErrOther)
		}
	}
	if err != nil {
		return fmt.Errorf("store model %s: %w", m.GetVersion(), err)
	}
	return nil
}

// Announcement returns the record of model.published for a model that is stored.
func Announcement(m *schemas.ModelPublished) (stream.Out, error) {
	value, err := proto.Marshal(m)
	if err != nil {
		return stream.Out{}, fmt.Errorf("announce model %s: %w", m.GetVersion(), err)
	}
	headers := map[string]string{schemas.HeaderVersion: strconv.Itoa(schemas.Version)}
	if m.GetCrawl() != "" {
		headers[schemas.HeaderCrawl] = m.GetCrawl()
	}
	return stream.Out{
		Topic: schemas.TopicModelPublished, Partition: -1, Key: []byte(schemas.ModelKey(m)), Value: value, Headers: headers,
	}, nil
}

// Fetch returns the bytes of an announced model, checked against its digest.
func Fetch(ctx context.Context, store Store, m *schemas.ModelPublished) ([]byte, error) {
	data, err := store.Get(ctx, m.GetObject())
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", m.GetKind(), m.GetVersion(), err)
	}
	sum := sha256.Sum256(data)
	if got := "sha256:" + hex.EncodeToString(sum[:]); got != m.GetDigest() {
		return nil, fmt.Errorf("%s %s: object %s has digest %s, announced was %s", m.GetKind(), m.GetVersion(), m.GetObject(), got, m.GetDigest())
	}
	return data, nil
}
