package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Field is one named field of a record's or an HTTP response's header.
type Field struct{ Name, Value string }

// Header is fields in their order. Names are compared without regard to case.
type Header []Field

// Get returns the first value of the named field, or "".
func (h Header) Get(name string) string {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Names of the fields and record types that this package uses.
const (
	fieldType           = "WARC-Type"
	fieldID             = "WARC-Record-ID"
	fieldDate           = "WARC-Date"
	fieldTarget         = "WARC-Target-URI"
	fieldContentType    = "Content-Type"
	fieldContentLength  = "Content-Length"
	fieldBlockDigest    = "WARC-Block-Digest"
	fieldPayloadDigest  = "WARC-Payload-Digest"
	fieldTruncated      = "WARC-Truncated"
	fieldIP             = "WARC-IP-Address"
	fieldProtocol       = "WARC-Protocol"
	fieldWarcinfo       = "WARC-Warcinfo-ID"
	fieldFilename       = "WARC-Filename"
	TypeWarcinfo        = "warcinfo"
	TypeResponse        = "response"
	contentTypeResponse = "application/http;msgtype=response"
	contentTypeFields   = "application/warc-fields"
)

var errNotRecord = errors.New("no WARC record begins here")

// readHeader reads a version line and the fields to the empty line after them, at most limit bytes. At the end of
// the stream it returns io.EOF.
func readHeader(r *bufio.Reader, limit int) (Header, error) {
	start, err := r.Peek(len(magic))
	if len(start) == 0 {
		if err == io.EOF {
			return nil, io.EOF
		}
		return nil, err
	}
	if string(start) != magic {
		if err != nil && err != io.EOF {
			return nil, err
		}
		return nil, errNotRecord
	}
	left := limit
	version, err := readLine(r, &left)
	if err != nil {
		return nil, err
	}
	if !knownVersion(version) {
		return nil, fmt.Errorf("version line %.40q is not known", version)
	}
	return readFields(r, &left)
}

const magic = "WARC/"

// knownVersion reports whether the line is that of WARC 0.17, 0.18 or any 1.x.
func knownVersion(line string) bool {
	v := strings.TrimPrefix(line, magic)
	return strings.HasPrefix(v, "1.") || v == "0.17" || v == "0.18"
}

// readFields reads "Name: value" lines, continued lines joined, to the empty line.
func readFields(r *bufio.Reader, left *int) (Header, error) {
	var lines fieldLines
	for {
		line, err := readLine(r, left)
		if err != nil {
			return nil, err
		}
		if line == "" {
			return lines.header(), nil
		}
		if !lines.add(line) {
			return nil, fmt.Errorf("header line %.40q is not \"name: value\"", line)
		}
	}
}

// fieldLines parses header lines in time linear in their length.
type fieldLines struct {
	h    Header
	last []byte // value of the last field while lines may continue it
}

// add adds a line that is not empty; false if it is no field and continues none.
func (l *fieldLines) add(line string) bool {
	if line[0] == ' ' || line[0] == '\t' {
		if len(l.h) == 0 {
			return false
		}
		if line = strings.TrimSpace(line); line != "" && len(l.last) > 0 {
			l.last = append(l.last, ' ')
		}
		l.last = append(l.last, line...)
		return true
	}
	name, value, ok := strings.Cut(line, ":")
	if name = strings.TrimSpace(name); !ok || !isToken(name) {
		return false
	}
	l.end()
	l.h = append(l.h, Field{Name: name})
	l.last = append(l.last[:0], strings.TrimSpace(value)...)
	return true
}

func (l *fieldLines) end() {
	if n := len(l.h); n > 0 {
		l.h[n-1].Value = string(l.last)
	}
}

func (l *fieldLines) header() Header {
	l.end()
	return l.h
}

// readLine reads to the next line feed and cuts the line end; it subtracts the bytes read from left.
func readLine(r *bufio.Reader, left *int) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if *left -= len(part); *left < 0 {
			return "", errors.New("record header is longer than the limit")
		}
		if err == nil && line == nil {
			return string(bytes.TrimRight(part, "\r\n")), nil
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return string(bytes.TrimRight(line, "\r\n")), nil
		case err == io.EOF:
			return "", fmt.Errorf("record header ends in the middle: %w", io.ErrUnexpectedEOF)
		case err != bufio.ErrBufferFull:
			return "", err
		}
	}
}

// newRecord checks the fields that are required for reading.
func newRecord(h Header, offset, maxBlock int64) (*Record, error) {
	r := &Record{Offset: offset, Header: h}
	if r.Type = strings.ToLower(h.Get(fieldType)); r.Type == "" {
		return nil, errors.New("record has no " + fieldType)
	}
	length := h.Get(fieldContentLength)
	n, err := strconv.ParseUint(length, 10, 63)
	if err != nil {
		return nil, fmt.Errorf("%s %.40q is not a length", fieldContentLength, length)
	}
	if r.Length = int64(n); r.Length > maxBlock {
		return nil, fmt.Errorf("block of %d bytes, limit %d", r.Length, maxBlock)
	}
	// WARC/1.0 files are known to write the URI in angle brackets.
	r.TargetURI = strings.TrimSuffix(strings.TrimPrefix(h.Get(fieldTarget), "<"), ">")
	r.ID = strings.TrimSuffix(strings.TrimPrefix(h.Get(fieldID), "<"), ">")
	if date, err := time.Parse(time.RFC3339Nano, h.Get(fieldDate)); err == nil {
		r.Date = date.UTC()
	}
	return r, nil
}
