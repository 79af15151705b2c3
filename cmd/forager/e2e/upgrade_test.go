package e2e

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"forager/internal/stream"
	"forager/schemas"
)

// lasting are changes of the pipeline file by which topics keep records of any age.
func lasting() []string {
	return []string{"retention: 24h", "retention: 0s", "retention: 720h", "retention: 0s"}
}

// unpack makes the data folder that a version before has left (testdata/previous).
func (r *rig) unpack() {
	r.t.Helper()
	f, err := os.Open("testdata/previous/data.tar.zst")
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	d, err := zstd.NewReader(f)
	if err != nil {
		r.t.Fatal(err)
	}
	defer d.Close()
	for archive := tar.NewReader(d); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			r.t.Fatal(err)
		}
		path := filepath.Join(r.cfg.Data, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o700); err != nil {
				r.t.Fatal(err)
			}
			continue
		}
		b, err := io.ReadAll(archive)
		if err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

// readsRecords decodes every record, and checks that this version has every field in them and accepts the role of each record of link.found.
func (r *rig) readsRecords() {
	r.t.Helper()
	for topic, conf := range r.cfg.Topics {
		n := 0
		for p := range conf.Partitions {
			first, end, err := r.books.Client.Offsets(r.s, topic, p)
			if err != nil {
				r.t.Fatal(err)
			}
			err = r.books.Client.Read(r.s, topic, p, first, end, func(rec stream.Record) error {
				n++
				if err := reads(&rec); err != nil {
					r.t.Errorf("%s/%d offset %d: %v", topic, p, rec.Offset, err)
				}
				return nil
			})
			if err != nil {
				r.t.Fatal(err)
			}
		}
		if n == 0 && topic != schemas.TopicDeadLetter && topic != schemas.TopicPageRejudged { // which the version before did not have
			r.t.Errorf("there are no records of %s", topic)
		}
	}
}

func reads(r *stream.Record) error {
	m := schemas.Record(r.Topic)
	if err := proto.Unmarshal(r.Value, m); err != nil {
		return err
	}
	if u := m.ProtoReflect().GetUnknown(); len(u) > 0 {
		return errors.New("it has fields that this version does not have")
	}
	if found, ok := m.(*schemas.LinkFound); ok {
		_, err := schemas.OpenFound(found)
		return err
	}
	return nil
}
