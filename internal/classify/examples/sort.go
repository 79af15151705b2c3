package examples

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	defaultMemory = 128 << 20
	// overhead of an example in memory in addition to its bytes.
	overhead = 64
	// maxRuns is the number of runs that are merged at once.
	maxRuns = 64
	// runBuffer is the size of the buffer of each, bytes.
	runBuffer = 256 << 10
	// Slabs grow from the first size to the second.
	firstSlab, slabSize = 64 << 10, 4 << 20
)

// record is a serialized example: its parts, each preceded by its length as a uvarint, the URL first.
type record struct{ url, all []byte }

func compareRecords(a, b record) int {
	if c := bytes.Compare(a.url, b.url); c != 0 {
		return c
	}
	return bytes.Compare(a.all, b.all)
}

// sorter sorts records by their bytes, in memory while they fit, then in runs on disk.
type sorter struct {
	memory, held int
	temp         string
	records      []record
	slabs        [][]byte // the last one has space
	spare        [][]byte // of slabSize, empty
	dir          string   // of the runs; empty = none yet
	runs         []string
	made         int
}

func newSorter(memory int, temp string) *sorter {
	if memory <= 0 {
		memory = defaultMemory
	}
	return &sorter{memory: memory, temp: temp}
}

func (s *sorter) close() error {
	s.records, s.slabs, s.spare = nil, nil, nil
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// add adds an example.
func (s *sorter) add(e *Example) error {
	topics := 0
	for _, t := range e.Topics {
		topics += len(t) + 1
	}
	size := len(e.URL) + topics + len(e.Text) + 3*binary.MaxVarintLen64
	if s.held+size+overhead > s.memory && len(s.records) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	b := s.reserve(size)
	b = binary.AppendUvarint(b, uint64(len(e.URL)))
	begin := len(b)
	b = append(b, e.URL...)
	end := len(b)
	b = binary.AppendUvarint(b, uint64(topics))
	for _, t := range e.Topics {
		b = append(append(b, t...), '\n') // no topic contains one
	}
	b = append(binary.AppendUvarint(b, uint64(len(e.Text))), e.Text...)
	last := &s.slabs[len(s.slabs)-1]
	*last = (*last)[:len(*last)+len(b)]
	s.records = append(s.records, record{url: b[begin:end:end], all: b[:len(b):len(b)]})
	s.held += len(b) + overhead
	return nil
}

// reserve returns an empty slice with the capacity, at the end of the last slab.
func (s *sorter) reserve(size int) []byte {
	if n := len(s.slabs); n > 0 {
		if last := s.slabs[n-1]; cap(last)-len(last) >= size {
			return last[len(last):]
		}
	}
	var slab []byte
	if n := len(s.spare); n > 0 && size <= slabSize {
		slab, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		slab = make([]byte, 0, max(min(firstSlab<<len(s.slabs), slabSize), size))
	}
	s.slabs = append(s.slabs, slab)
	return slab
}

// spill writes the records in memory as a run.
func (s *sorter) spill() error {
	slices.SortFunc(s.records, compareRecords)
	err := s.run(func(w *bufio.Writer) error {
		for _, r := range s.records {
			if _, err := w.Write(r.all); err != nil {
				return err
			}
		}
		return nil
	})
	for _, slab := range s.slabs {
		if cap(slab) == slabSize {
			s.spare = append(s.spare, slab[:0])
		}
	}
	clear(s.slabs)
	s.records, s.slabs, s.held = s.records[:0], s.slabs[:0], 0
	if err == nil && len(s.runs) == maxRuns {
		err = s.shorten()
	}
	return err
}

// run writes a run.
func (s *sorter) run(fill func(*bufio.Writer) error) error {
	if s.dir == "" {
		dir, err := os.MkdirTemp(s.temp, "forager-examples-*")
		if err != nil {
			return fmt.Errorf("sort examples: %w", err)
		}
		s.dir = dir
	}
	s.made++
	path := filepath.Join(s.dir, fmt.Sprint(s.made))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("sort examples: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err = fill(w); err == nil {
		err = w.Flush()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("sort examples: %w", err)
	}
	s.runs = append(s.runs, path)
	return nil
}

// shorten merges all runs to one.
func (s *sorter) shorten() error {
	old := s.runs
	m, err := openMerge(old, nil)
	if err != nil {
		return err
	}
	defer m.close()
	s.runs = nil
	err = s.run(func(w *bufio.Writer) error {
		for m.Len() > 0 {
			if _, err := w.Write(m.runs[0].head.all); err != nil {
				return err
			}
			if err := m.advance(); err != nil {
				return err
			}
		}
		return nil
	})
	for _, path := range old {
		os.Remove(path)
	}
	return err
}

// merge calls take with all examples in the order of URLs.
func (s *sorter) merge(take func(Example) error) error {
	slices.SortFunc(s.records, compareRecords)
	m, err := openMerge(s.runs, s.records)
	if err != nil {
		return err
	}
	defer m.close()
	for m.Len() > 0 {
		e, err := m.runs[0].head.example()
		if err != nil {
			return err
		}
		if err := take(e); err != nil {
			return err
		}
		if err := m.advance(); err != nil {
			return err
		}
	}
	return nil
}

var errRun = errors.New("sort examples: a temporary file was changed")

// example decodes a record.
func (r record) example() (e Example, err error) {
	rest := r.all
	var parts [3]string
	for i := range parts {
		n, used := binary.Uvarint(rest)
		if used <= 0 || n > uint64(len(rest)-used) {
			return e, errRun
		}
		parts[i], rest = string(rest[used:used+int(n)]), rest[used+int(n):]
	}
	return Example{URL: parts[0], Topics: strings.Split(strings.TrimSuffix(parts[1], "\n"), "\n"), Text: parts[2]}, nil
}

// merged is a heap of runs, by the current record of each.
type merged struct{ runs []*run }

// run is a sorted sequence of records, in a file or in memory.
type run struct {
	head   record
	file   *os.File
	in     *bufio.Reader
	buffer []byte
	rest   []record
}

func openMerge(paths []string, memory []record) (*merged, error) {
	m := new(merged)
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			m.close()
			return nil, fmt.Errorf("sort examples: %w", err)
		}
		m.runs = append(m.runs, &run{file: f, in: bufio.NewReaderSize(f, runBuffer)})
	}
	if len(memory) > 0 {
		m.runs = append(m.runs, &run{rest: memory})
	}
	for _, r := range m.runs {
		if err := r.next(); err != nil {
			m.close()
			return nil, err
		}
	}
	heap.Init(m)
	return m, nil
}

func (m *merged) close() {
	for _, r := range m.runs {
		if r.file != nil {
			_ = r.file.Close()
		}
	}
}

// advance advances the run with the least record.
func (m *merged) advance() error {
	r := m.runs[0]
	err := r.next()
	switch {
	case errors.Is(err, io.EOF):
		if r.file != nil {
			_ = r.file.Close()
		}
		heap.Pop(m)
		return nil
	case err != nil:
		return err
	}
	heap.Fix(m, 0)
	return nil
}

// next goes to the next record; io.EOF after the last one.
func (r *run) next() error {
	if r.file == nil {
		if len(r.rest) == 0 {
			return io.EOF
		}
		r.head, r.rest = r.rest[0], r.rest[1:]
		return nil
	}
	r.buffer = r.buffer[:0]
	var url [2]int
	for i := range 3 {
		n, err := binary.ReadUvarint(r.in)
		if err != nil {
			if i == 0 && errors.Is(err, io.EOF) {
				return io.EOF
			}
			return errors.Join(errRun, err)
		}
		if n > maxLine {
			return errRun
		}
		r.buffer = binary.AppendUvarint(r.buffer, n)
		begin := len(r.buffer)
		r.buffer = slices.Grow(r.buffer, int(n))[:begin+int(n)]
		if _, err := io.ReadFull(r.in, r.buffer[begin:]); err != nil {
			return errors.Join(errRun, err)
		}
		if i == 0 {
			url = [2]int{begin, len(r.buffer)}
		}
	}
	r.head = record{url: r.buffer[url[0]:url[1]], all: r.buffer}
	return nil
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (m *merged) Len() int           { return len(m.runs) }
func (m *merged) Less(i, j int) bool { return compareRecords(m.runs[i].head, m.runs[j].head) < 0 }
func (m *merged) Swap(i, j int)      { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }

// Push is never called.
func (m *merged) Push(x any) { m.runs = append(m.runs, x.(*run)) }

// Pop removes the last run.
func (m *merged) Pop() any {
	n := len(m.runs) - 1
	r := m.runs[n]
	m.runs = m.runs[:n]
	return r
}
