package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/platform/archive"
	"forager/internal/platform/objects"
	"forager/internal/stream"
)

// copies is the number of uploads of a file after which the stage waits before the next one.
const copies = 4

// store is the part of *objects.Store used here.
type store interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, r io.Reader, size int64) error
}

// archiver writes batches of records as files.
type archiver struct {
	store store
	dir   string // of temporary files
	log   *slog.Logger

	files, rows, bytes *prometheus.CounterVec // by topic
	torn               prometheus.Counter
}

func newArchiver(s store, dir string, log *slog.Logger) *archiver {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "forager", Subsystem: "archive_parquet", Name: name, Help: help}, []string{"topic"})
	}
	return &archiver{
		store: s, dir: dir, log: log,
		files: counter("files_total", "Files stored and read back."),
		rows:  counter("rows_total", "Records in these files, those that came again included."),
		bytes: counter("bytes_total", "Bytes of these files."),
		torn: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "forager", Subsystem: "archive_parquet", Name: "torn_files_total",
			Help: "Files that could not be read back as they were uploaded."}),
	}
}

// keep writes a batch: all of it is in files that were read back when it returns nil.
func (a *archiver) keep(ctx context.Context, rs []stream.Record) error {
	for _, part := range parts(rs) {
		if err := a.keepPart(ctx, part); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
		stream.Failpoint("archived-a-part")
	}
	return nil
}

// parts splits a batch by topic and partition; the order of offsets is kept.
func parts(rs []stream.Record) [][]archive.Record {
	type lane struct {
		topic     string
		partition int
	}
	byLane := make(map[lane][]archive.Record)
	for _, r := range rs {
		l := lane{r.Topic, r.Partition}
		byLane[l] = append(byLane[l], archive.Record(r))
	}
	var all [][]archive.Record
	for _, part := range byLane {
		all = append(all, part)
	}
	slices.SortFunc(all, func(a, b []archive.Record) int {
		return cmp.Or(cmp.Compare(a[0].Topic, b[0].Topic), cmp.Compare(a[0].Partition, b[0].Partition))
	})
	return all
}

// keepPart writes the records of one partition as a file and stores it. Records that cannot be
// written are a bug; all other errors are waited for.
func (a *archiver) keepPart(ctx context.Context, records []archive.Record) error {
	file, err := a.temporary()
	if err != nil {
		return stream.Unavailable(err)
	}
	defer file.Close()
	disk := &diskWriter{file: file}
	out := bufio.NewWriterSize(disk, 1<<20)
	name, err := archive.Write(out, records)
	if err == nil {
		err = out.Flush()
	}
	switch {
	case disk.err != nil:
		return stream.Unavailable(fmt.Errorf("temporary file in %s: %w", a.dir, disk.err))
	case err != nil:
		return stream.Broken(err)
	}
	if err := a.upload(ctx, name, file, disk.size, len(records)); err != nil {
		return stream.Unavailable(err)
	}
	a.files.WithLabelValues(name.Topic).Inc()
	a.rows.WithLabelValues(name.Topic).Add(float64(len(records)))
	a.bytes.WithLabelValues(name.Topic).Add(float64(disk.size))
	a.log.Info("archived", "topic", name.Topic, "partition", name.Partition, "first", name.First, "last", name.Last, "rows", len(records), "bytes", disk.size)
	return nil
}

// upload stores a file and reads it back. A file that exists under the name is accepted if it can
// be read back; if not, it is left unchanged and this one gets the next name.
func (a *archiver) upload(ctx context.Context, name archive.Name, file *os.File, size int64, rows int) error {
	for {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("temporary file in %s: %w", a.dir, err)
		}
		if err := a.store.Put(ctx, name.Key(), file, size); err != nil && !errors.Is(err, objects.ErrExists) {
			return err
		}
		data, err := a.store.Get(ctx, name.Key())
		if err != nil {
			return fmt.Errorf("read back: %w", err)
		}
		if err = archive.Verify(name, data, rows); err == nil {
			return nil
		}
		a.torn.Inc()
		a.log.Error("not stored as it was uploaded", "object", name.Key(), "error", err)
		if name.Copy++; name.Copy == copies {
			return fmt.Errorf("the object store does not give back what it is given: %w", err)
		}
	}
}

// temporary opens a file that is removed when it is closed, however the process ends.
func (a *archiver) temporary() (*os.File, error) {
	if err := os.MkdirAll(a.dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(a.dir, "part-*.parquet")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// diskWriter counts the bytes written, and keeps an error of the disk.
type diskWriter struct {
	file *os.File
	size int64
	err  error
}

func (d *diskWriter) Write(b []byte) (int, error) {
	n, err := d.file.Write(b)
	d.size += int64(n)
	if err != nil {
		d.err = err
	}
	return n, err
}
