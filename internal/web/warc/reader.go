package warc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/klauspost/compress/gzip"
)

// Record is the header of one record and its block as a stream.
type Record struct {
	// Type is WARC-Type in lower case: TypeResponse, TypeWarcinfo, "request" …
	Type string
	// ID is WARC-Record-ID without its angle brackets ("urn:uuid:…").
	ID string
	// Date is WARC-Date in UTC; zero where it is missing or not a date.
	Date time.Time
	// TargetURI as written in the record; not made canonical.
	TargetURI string
	// Header holds every field.
	Header Header
	// Length of the block, bytes.
	Length int64
	// Offset is where the record's gzip member, or the bare record, begins in the file.
	Offset int64
	// Block is the record's content, valid until the next call of Next. A member found damaged at its end returns
	// a *DamagedError in place of io.EOF.
	Block io.Reader
}

// Response reads the block as the HTTP response of a response record.
func (r *Record) Response() (*Response, error) {
	block, err := io.ReadAll(r.Block)
	if err != nil {
		return nil, err
	}
	answer, err := ParseResponse(block)
	if err != nil {
		return nil, fmt.Errorf("record of %s at offset %d: %w", r.TargetURI, r.Offset, err)
	}
	return answer, nil
}

// Limits bound the memory and work that a file can cause. A zero field has its default.
type Limits struct {
	// Header of a record, bytes; 64 KiB.
	Header int
	// Block of a record, bytes; 1 GiB. Blocks are streamed, never stored.
	Block int64
}

func (l Limits) withDefaults() Limits {
	if l.Header <= 0 {
		l.Header = 64 << 10
	}
	if l.Block <= 0 {
		l.Block = 1 << 30
	}
	return l
}

// DamagedError is a part of the file that is not a readable record. The reader continues after it.
type DamagedError struct {
	// Offset is where the member, or the bare record, begins in the file, bytes.
	Offset int64
	Err    error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("WARC record at offset %d is damaged: %v", e.Offset, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Reader reads the records of a file in their order.
type Reader struct {
	file   io.ReaderAt
	size   int64
	limits Limits

	in     counter       // the file from an offset on
	raw    *bufio.Reader // over in; its position is exactly after what was consumed
	gz     gzip.Reader
	text   *bufio.Reader // records: over gz, or raw itself in a file of bare records
	member int64         // offset of the open member or bare record; -1 when none is open
	zipped bool
	block  *block // of the last record returned
	probe  prober
	window []byte // of the file, in search
	wasted int64  // bytes of the file that were read of damaged members
}

// NewReader returns a reader of a file of the given size, gzipped or bare, which it detects.
func NewReader(file io.ReaderAt, size int64, limits Limits) *Reader {
	r := &Reader{limits: limits.withDefaults()}
	r.raw = bufio.NewReaderSize(nil, int(min(max(size, 512), 64<<10)))
	r.text = bufio.NewReaderSize(nil, 8<<10)
	r.Reset(file, size)
	return r
}

// Reset begins another file and keeps the reader's memory.
func (r *Reader) Reset(file io.ReaderAt, size int64) {
	r.file, r.size, r.block, r.wasted = file, size, nil, 0
	r.seek(0)
	r.in.most = maxRead
}

// Next returns the next record; io.EOF at the end of the file; *DamagedError for a part that cannot be read, after
// which the next call continues. A record whose damage appears only at its end has been returned by then: if its
// block was not read to the end, Next reports the damage. Any other error is one of reading the file and repeats.
func (r *Reader) Next() (*Record, error) {
	if err := r.leave(); err != nil {
		return nil, err
	}
	for {
		if r.member < 0 {
			if err := r.open(); err != nil {
				return nil, err
			}
		}
		record, err := r.record()
		if err == io.EOF { // of the member
			r.member = -1
			continue
		}
		if err != nil {
			return nil, r.fail(err)
		}
		return record, nil
	}
}

// leave reads the rest of the last block and goes past it, or past its damage; damage that Block has not reported
// is returned.
func (r *Reader) leave() error {
	b := r.block
	if b == nil {
		return nil
	}
	r.block = nil
	reported := b.failed != nil
	_, err := io.Copy(io.Discard, b)
	if b.failed == nil {
		return err
	}
	if err := r.skip(b.failed.Offset); err != nil || reported {
		return err
	}
	return b.failed
}

// offset returns the position in the file after what was consumed.
func (r *Reader) offset() int64 { return r.in.at - int64(r.raw.Buffered()) }

func (r *Reader) seek(offset int64) {
	r.in = counter{file: r.file, at: offset, end: r.size, most: minRead}
	r.raw.Reset(&r.in)
	r.member = -1
}

// open begins the member or bare record at the current offset.
func (r *Reader) open() error {
	start, err := r.raw.Peek(2)
	if r.in.err != nil {
		return r.in.err
	}
	if len(start) == 0 {
		return err
	}
	r.member = r.offset()
	if r.zipped = string(start) == gzipMagic; !r.zipped {
		return nil
	}
	if err := r.gz.Reset(r.raw); err != nil {
		return r.fail(fmt.Errorf("gzip header: %w", err))
	}
	r.gz.Multistream(false)
	r.text.Reset(&r.gz)
	return nil
}

// fail reports the open member as damaged and goes past it.
func (r *Reader) fail(cause error) error {
	if r.in.err != nil {
		return r.in.err
	}
	damaged := &DamagedError{Offset: r.member, Err: cause}
	if err := r.skip(damaged.Offset); err != nil {
		return err
	}
	return damaged
}

// record reads the header of the next record of the open member; io.EOF if there is none.
func (r *Reader) record() (*Record, error) {
	text := r.text
	if !r.zipped {
		text = r.raw
		if r.member != r.offset() {
			return nil, io.EOF // every bare record is a member of its own
		}
	}
	header, err := readHeader(text, r.limits.Header)
	if err != nil {
		return nil, err
	}
	record, err := newRecord(header, r.member, r.limits.Block)
	if err != nil {
		return nil, err
	}
	if !r.zipped {
		// A bare record has no checksum: its length is accepted if an empty line follows.
		if err := r.checkEnd(r.offset() + record.Length); err != nil {
			return nil, err
		}
	}
	r.block = &block{reader: r, text: text, left: record.Length}
	record.Block = r.block
	return record, nil
}

// checkEnd checks whether a bare record can end at the offset.
func (r *Reader) checkEnd(end int64) error {
	var tail [len(recordEnd)]byte
	n, err := r.file.ReadAt(tail[:], min(end, r.size))
	switch {
	case end > r.size:
		return fmt.Errorf("block ends %d bytes behind the end of the file: %w", end-r.size, io.ErrUnexpectedEOF)
	case n == len(tail) && string(tail[:]) == recordEnd, n >= 2 && string(tail[:2]) == "\n\n", n == 0 && err == io.EOF:
		return nil
	case err != nil && err != io.EOF:
		return err
	}
	return errors.New("block is not followed by an empty line")
}

const (
	recordEnd = "\r\n\r\n"
	gzipMagic = "\x1f\x8b"
)

// block streams the content of a record and checks what follows it.
type block struct {
	reader *Reader
	text   *bufio.Reader
	left   int64
	done   bool
	failed *DamagedError
}

func (b *block) Read(p []byte) (int, error) {
	switch {
	case b.failed != nil, b.done:
		return 0, io.EOF
	case b.left == 0:
		return 0, b.finish(b.end())
	}
	n, err := b.text.Read(p[:min(int64(len(p)), b.left)])
	if b.left -= int64(n); err == io.EOF {
		err = fmt.Errorf("block ends %d bytes early: %w", b.left, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return n, b.finish(err)
	}
	return n, nil
}

// finish converts the end of the block to io.EOF or to the error of the damage, once.
func (b *block) finish(cause error) error {
	b.done = true
	if cause == nil {
		return io.EOF
	}
	if err := b.reader.in.err; err != nil {
		return err
	}
	b.failed = &DamagedError{Offset: b.reader.member, Err: cause}
	return b.failed
}

// end reads the empty line after a block and, in a member, what shows whether the member is whole: the next
// record's first byte, or the checksum.
func (b *block) end() error {
	for range 2 {
		c, err := b.text.ReadByte()
		if c == '\r' && err == nil {
			c, err = b.text.ReadByte()
		}
		if err == io.EOF {
			return nil // a last record without its empty line
		}
		if err != nil {
			return err
		}
		if c != '\n' {
			return errors.New("block is not followed by an empty line")
		}
	}
	if !b.reader.zipped {
		return nil
	}
	if _, err := b.text.Peek(1); err != nil && err != io.EOF {
		return err
	}
	return nil
}

// Damaged members may be nested. The bytes read of them are read again, until these were freeWaste bytes and
// wasteFactor times the part of the file that was passed; from then on each byte is read once.
const (
	freeWaste   = 1 << 20
	wasteFactor = 4
)

// skip goes to the next position after a damaged member where a record begins, or to the end.
func (r *Reader) skip(damaged int64) error {
	from, consumed := damaged+1, r.offset()
	if r.wasted += consumed - damaged; r.wasted > freeWaste+wasteFactor*consumed {
		from = max(from, consumed)
	}
	offset, err := r.search(from)
	if err != nil {
		return err
	}
	r.seek(offset)
	return nil
}

// search returns the first position from the offset on of a gzip member that contains a record, or of a bare
// record at the beginning of a line; if there is none, the size of the file. It reads little more than the part it
// passes over, as a damaged file may need it every few bytes.
func (r *Reader) search(from int64) (int64, error) {
	const overlap = len(recordEnd) + len(bareStart)
	chunk := minRead
	for at := max(0, from-int64(len(recordEnd))); at < r.size; {
		if len(r.window) < chunk+overlap {
			r.window = make([]byte, chunk+overlap)
		}
		piece := r.window[:min(int64(chunk+overlap), r.size-at)]
		n, err := r.file.ReadAt(piece, at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		for i := range candidates(piece[:n]) {
			offset := at + int64(i)
			if offset < from {
				continue
			}
			if piece[i] == gzipMagic[0] && !r.probe.holdsRecord(r.file, offset, r.size) {
				continue
			}
			return offset, nil
		}
		at += int64(chunk)
		chunk = min(2*chunk, 4*maxRead)
	}
	return r.size, nil
}

const (
	memberStart = gzipMagic + "\x08"
	bareStart   = "WARC/1."
)

// candidates yields the positions in a piece of the file where a member or a bare record may begin, ascending.
func candidates(piece []byte) iter.Seq[int] {
	next := func(i int, what string) int {
		if k := bytes.Index(piece[i:], []byte(what)); k >= 0 {
			return i + k
		}
		return len(piece)
	}
	return func(yield func(int) bool) {
		zip, bare := next(0, memberStart), next(0, "\n"+bareStart)
		for zip < len(piece) || bare < len(piece) {
			if zip < bare {
				if !yield(zip) {
					return
				}
				zip = next(zip+1, memberStart)
			} else {
				if !yield(bare + 1) {
					return
				}
				bare = next(bare+1, "\n"+bareStart)
			}
		}
	}
}

// prober checks whether a gzip member contains a record; it reads a few hundred bytes at most, so that a file full
// of gzip headers costs no more than its size times a constant.
type prober struct {
	gz   gzip.Reader
	head [probed]byte
	br   bytes.Reader
}

const (
	probed    = 512
	flagExtra = 1 << 2 // of a gzip header: a field follows, with its length before it
)

func (p *prober) holdsRecord(file io.ReaderAt, offset, size int64) bool {
	n, _ := file.ReadAt(p.head[:min(probed, size-offset)], offset)
	head := p.head[:n]
	if n > 11 && head[3]&flagExtra != 0 && binary.LittleEndian.Uint16(head[10:]) > probed {
		return false // gzip.Reader would allocate as much memory as the field claims
	}
	p.br.Reset(head)
	if p.gz.Reset(&p.br) != nil {
		return false
	}
	p.gz.Multistream(false)
	var start [len(magic)]byte
	_, err := io.ReadFull(&p.gz, start[:])
	return err == nil && string(start[:]) == magic
}

// counter reads the file from an offset on and counts.
type counter struct {
	file    io.ReaderAt
	at, end int64
	most    int   // bytes of the next read
	err     error // of the file; io.EOF is not stored
}

// Reads after damage begin small, as more damage may follow at once, and grow.
const (
	minRead = 256
	maxRead = 64 << 10
)

func (c *counter) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.at >= c.end {
		return 0, io.EOF
	}
	n, err := c.file.ReadAt(p[:min(int64(len(p)), int64(c.most), c.end-c.at)], c.at)
	c.most = min(2*c.most, maxRead)
	c.at += int64(n)
	if n > 0 {
		return n, nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF // the file is shorter than its size
	}
	c.err = fmt.Errorf("read WARC file at offset %d: %w", c.at, err)
	return 0, c.err
}
