package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"forager/internal/platform/objects"
	"forager/internal/stream/state"
)

// Settings that no operator has to know.
const (
	// Keep is the number of newest snapshots that are kept.
	Keep = 3
	// ChunkBytes is the size of an object that has a part of a file; the last of a file is smaller.
	ChunkBytes = 4 << 20
	// uploadTime is the longest time of an upload, keepTime how long what is no longer needed is kept.
	uploadTime, keepTime = 30 * time.Minute, time.Hour
	// version of the manifests that are written and read.
	version = 1
	// maxManifest is the size of the largest manifest that is read, bytes: some 100,000 chunks.
	maxManifest = 16 << 20
)

// Bucket is the part of *objects.Store that is used.
type Bucket interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	Delete(ctx context.Context, key string) error
	List(ctx context.Context, prefix string) iter.Seq2[objects.Object, error]
}

// Of names a partition of a stage's input, and the layout of the stage's state.
type Of struct {
	Stage     string `json:"stage"`
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
	Layout    string `json:"layout"`
}

// Prefix is the beginning of the names of all objects of a partition.
func (o Of) Prefix() string { return fmt.Sprintf("snapshots/%s/%s/%d/", o.Stage, o.Topic, o.Partition) }

func (o Of) manifests() string { return o.Prefix() + "manifests/" }
func (o Of) chunks() string    { return o.Prefix() + "chunks/" }

// Manifest describes a snapshot.
type Manifest struct {
	Version int `json:"version"`
	Of
	Epoch uint64 `json:"epoch"`
	// Marks of the state, as state.Marks.String.
	Marks string    `json:"marks"`
	Made  time.Time `json:"made"`
	// Witnesses are records before the marks: topics that have others at their offsets are not those of the snapshot.
	Witnesses []Witness `json:"witnesses"`
	Files     []File    `json:"files"`
}

// Witness is the digest of a record of the topics.
type Witness struct {
	// Log is the partition of the decision log; -1: the record is one of the input.
	Log    int    `json:"log"`
	Offset int64  `json:"offset"`
	Digest string `json:"digest"`
}

// File is a file of the state's directory.
type File struct {
	Name string `json:"name"`
	Size int64  `json:"size"` // bytes
	// Chunks are the names of its parts, in order: the SHA-256 of the content in hex, a hyphen and the upload.
	Chunks []string `json:"chunks"`
}

// encode returns the manifest and the last part of its name, which sorts by progress.
func (m *Manifest) encode() (name string, body []byte, err error) {
	marks, err := state.ParseMarks(m.Marks)
	if err != nil {
		return "", nil, err
	}
	if body, err = json.Marshal(m); err != nil {
		return "", nil, fmt.Errorf("manifest: %w", err)
	}
	var log int64
	for _, l := range marks.Log {
		log += l.Offset
	}
	return fmt.Sprintf("%016d-%016d-%016d-%s", marks.Input, log, m.Epoch, digest(body)), body, nil
}

// Reasons why a snapshot is not used.
const (
	Damaged = "damaged" // its manifest or a chunk does not have its digest, or the directory cannot be opened
	Partial = "partial" // a chunk is missing
	Version = "version" // written by a later program
	Layout  = "layout"  // of another layout of the stage's state
	Foreign = "foreign" // of another stage, partition or topic
	Newer   = "newer"   // beyond the end of the topics
	Expired = "expired" // the topics have no longer what follows it
)

// unusable is the reason why a snapshot is not used.
type unusable struct {
	reason string
	err    error
}

func (u *unusable) Error() string { return u.reason + ": " + u.err.Error() }
func (u *unusable) Unwrap() error { return u.err }

func unfit(reason, format string, args ...any) *unusable {
	return &unusable{reason, fmt.Errorf(format, args...)}
}

// decode checks and decodes a manifest by the last part of its name.
func decode(name string, body []byte) (*Manifest, *unusable) {
	if i := strings.LastIndexByte(name, '-'); digest(body) != name[i+1:] {
		return nil, unfit(Damaged, "its digest is %s", digest(body))
	}
	m := new(Manifest)
	if err := json.Unmarshal(body, m); err != nil {
		return nil, &unusable{Version, err}
	}
	if m.Version != version {
		return nil, unfit(Version, "version %d of manifests, this program reads %d", m.Version, version)
	}
	return m, m.check(name)
}

func (m *Manifest) check(name string) *unusable {
	if again, _, err := m.encode(); err != nil || again[:strings.LastIndexByte(again, '-')] != name[:strings.LastIndexByte(name, '-')] {
		return unfit(Damaged, "it has the name of other marks than %q, epoch %d", m.Marks, m.Epoch)
	}
	for _, f := range m.Files {
		if f.Name == "" || strings.ContainsAny(f.Name, "/\\") || f.Name == "." || f.Name == ".." {
			return unfit(Damaged, "file name %q", f.Name)
		}
		if want := (f.Size + ChunkBytes - 1) / ChunkBytes; f.Size < 0 || int64(len(f.Chunks)) != want {
			return unfit(Damaged, "%s: %d chunks for %d bytes", f.Name, len(f.Chunks), f.Size)
		}
	}
	return nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// found is a manifest in the bucket. unfit is nil if it is complete.
type found struct {
	key      string
	modified time.Time
	*Manifest
	unfit *unusable
}

// name is the last part of the key.
func (f *found) name() string { return f.key[strings.LastIndexByte(f.key, '/')+1:] }

// survey is what the bucket has of a partition.
type survey struct {
	manifests []*found // the newest state first
	chunks    map[string]objects.Object
}

// look lists what the bucket has; manifests that read has seen are not read again.
func look(ctx context.Context, b Bucket, of Of, read map[string]*found) (*survey, error) {
	s := &survey{chunks: make(map[string]objects.Object)}
	present := make(map[string]bool)
	for o, err := range b.List(ctx, of.manifests()) {
		if err != nil {
			return nil, err
		}
		f, ok := read[o.Key]
		if !ok {
			f = &found{key: o.Key, modified: o.Modified}
			body, err := fetch(ctx, b, o)
			switch {
			case errors.Is(err, objects.ErrNotFound):
				continue // collected meanwhile
			case err != nil:
				return nil, err
			case body == nil:
				f.unfit = unfit(Damaged, "%d bytes", o.Size)
			default:
				f.Manifest, f.unfit = decode(f.name(), body)
			}
			read[o.Key] = f
		}
		present[o.Key] = true
		s.manifests = append(s.manifests, f)
	}
	// Chunks are listed after manifests: those of a manifest that is in the list are stored.
	for o, err := range b.List(ctx, of.chunks()) {
		if err != nil {
			return nil, err
		}
		s.chunks[strings.TrimPrefix(o.Key, of.chunks())] = o
	}
	maps.DeleteFunc(read, func(key string, _ *found) bool { return !present[key] })
	slices.SortFunc(s.manifests, func(a, b *found) int { return strings.Compare(b.key, a.key) })
	return s, nil
}

func fetch(ctx context.Context, b Bucket, o objects.Object) ([]byte, error) {
	if o.Size > maxManifest {
		return nil, nil
	}
	return b.Get(ctx, o.Key)
}

// complete returns why a manifest cannot be restored; nil: it can, by the list of the bucket.
func (s *survey) complete(f *found) *unusable {
	if f.unfit != nil {
		return f.unfit
	}
	for _, x := range f.Files {
		for i, c := range x.Chunks {
			want := min(x.Size-int64(i)*ChunkBytes, ChunkBytes)
			if o, ok := s.chunks[c]; !ok || o.Size != want {
				return unfit(Partial, "%s: chunk %s is missing or has not %d bytes", x.Name, c, want)
			}
		}
	}
	return nil
}
