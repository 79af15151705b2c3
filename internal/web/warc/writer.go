package warc

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// Page is a response to be stored as a response record.
type Page struct {
	// ID is the request's id, from which the record's is made.
	ID [16]byte
	// URL of the request, when the request began, and the address of the server ("" = unknown).
	URL  string
	Date time.Time
	IP   string
	// Protocol as in WARC-Protocol ("http/1.1", "h2"); "" = unknown.
	Protocol string
	// Status and Reason of the response.
	Status int
	Reason string
	// Header of the response; fields that describe a decoded coding are stored under another name.
	Header Header
	// Body after transfer and content decoding.
	Body []byte
	// Truncated is what cut the body: "length", "time", "disconnect"; "" = it is whole.
	Truncated string
}

// Location is the position of a member in its file, bytes.
type Location struct{ Offset, Length int64 }

// Writer writes a file of gzip members, one record each.
type Writer struct {
	to     io.Writer
	offset int64
	gz     *gzip.Writer
	buf    bytes.Buffer // the record
	zipped bytes.Buffer // its member
	info   string       // WARC-Record-ID of the warcinfo record
}

// NewWriter returns a Writer to an empty file.
func NewWriter(to io.Writer) *Writer {
	gz, err := gzip.NewWriterLevel(io.Discard, gzip.DefaultCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	return &Writer{to: to, gz: gz}
}

// Reset begins another empty file and keeps the memory of compression, 1.2 MB.
func (w *Writer) Reset(to io.Writer) { w.to, w.offset, w.info = to, 0, "" }

// Size returns the length of the file so far, bytes.
func (w *Writer) Size() int64 { return w.offset }

// Info writes the warcinfo record that describes the file; it comes first. id identifies the record.
func (w *Writer) Info(id [16]byte, filename string, date time.Time, fields Header) (Location, error) {
	var block bytes.Buffer
	writeFields(&block, append(fields[:len(fields):len(fields)], Field{"format", "WARC File Format 1.1"}))
	w.info = recordID(id)
	return w.record(Header{
		{fieldType, TypeWarcinfo},
		{fieldID, w.info},
		{fieldDate, formatDate(date)},
		{fieldFilename, filename},
		{fieldContentType, contentTypeFields},
		{fieldBlockDigest, Digest(block.Bytes())},
	}, block.Bytes())
}

// Response writes a response record and returns its position and the digest of the body.
func (w *Writer) Response(p *Page) (Location, string, error) {
	var block bytes.Buffer
	block.Grow(len(p.Body) + 1024)
	fmt.Fprintf(&block, "HTTP/1.1 %03d %s\r\n", p.Status, oneLine(p.Reason))
	writeFields(&block, storedHeader(p.Header, len(p.Body)))
	block.WriteString("\r\n")
	block.Write(p.Body)
	digest := Digest(p.Body)
	header := Header{
		{fieldType, TypeResponse},
		{fieldID, recordID(p.ID)},
		{fieldDate, formatDate(p.Date)},
		{fieldTarget, p.URL},
		{fieldContentType, contentTypeResponse},
		{fieldBlockDigest, Digest(block.Bytes())},
		{fieldPayloadDigest, digest},
	}
	for _, f := range []Field{{fieldWarcinfo, w.info}, {fieldIP, p.IP}, {fieldProtocol, p.Protocol}, {fieldTruncated, p.Truncated}} {
		if f.Value != "" {
			header = append(header, f)
		}
	}
	location, err := w.record(header, block.Bytes())
	return location, digest, err
}

// record writes one member. After a failed write the file is unusable: the position of the next record is unknown.
func (w *Writer) record(header Header, block []byte) (Location, error) {
	w.buf.Reset()
	w.buf.WriteString("WARC/1.1\r\n")
	writeFields(&w.buf, append(header, Field{fieldContentLength, strconv.Itoa(len(block))}))
	w.buf.WriteString("\r\n")
	w.zipped.Reset()
	w.gz.Reset(&w.zipped)
	for _, part := range [][]byte{w.buf.Bytes(), block, []byte(recordEnd)} {
		if _, err := w.gz.Write(part); err != nil {
			return Location{}, fmt.Errorf("compress WARC record: %w", err)
		}
	}
	if err := w.gz.Close(); err != nil {
		return Location{}, fmt.Errorf("compress WARC record: %w", err)
	}
	location := Location{Offset: w.offset, Length: int64(w.zipped.Len())}
	if _, err := w.to.Write(w.zipped.Bytes()); err != nil {
		return Location{}, fmt.Errorf("write WARC record at offset %d: %w", w.offset, err)
	}
	w.offset += location.Length
	return location, nil
}

// storedHeader returns the header for a decoded body of n bytes.
func storedHeader(h Header, n int) Header {
	length := strconv.Itoa(n)
	stored := make(Header, 0, len(h)+1)
	for _, f := range h {
		if !isToken(f.Name) {
			continue
		}
		switch strings.ToLower(f.Name) {
		case "content-encoding", "transfer-encoding":
			f.Name = origPrefix + f.Name
		case "content-length":
			if f.Value == length {
				continue
			}
			f.Name = origPrefix + f.Name
		}
		stored = append(stored, f)
	}
	return append(stored, Field{fieldContentLength, length})
}

const origPrefix = "X-Archive-Orig-"

// writeFields writes fields as lines; a value cannot end its line.
func writeFields(to *bytes.Buffer, h Header) {
	for _, f := range h {
		to.WriteString(f.Name)
		to.WriteString(": ")
		to.WriteString(oneLine(f.Value))
		to.WriteString("\r\n")
	}
}

// oneLine replaces, byte by byte, the characters that would end a line.
func oneLine(s string) string { return lineEnds.Replace(s) }

var lineEnds = strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ")

// recordID returns the id as the UUID of a record.
func recordID(id [16]byte) string {
	return fmt.Sprintf("<urn:uuid:%x-%x-%x-%x-%x>", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

func formatDate(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
