package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Response is an HTTP response as stored in a response record.
type Response struct {
	// Proto as sent ("HTTP/1.1").
	Proto string
	// Status, 100–999, and the reason phrase.
	Status int
	Reason string
	// Header in the order sent. Lines that are not "name: value" are left out.
	Header Header
	// Body as stored: neither transfer nor content coding is decoded. See Payload.
	Body []byte
}

// ParseResponse parses the block of a response record. It accepts what old servers and crawlers wrote: bare line
// feeds, header lines without a name or colon (left out), a truncated body, no reason, no empty line before an
// absent body. Only a block without a status line is refused. The body shares the block's memory.
func ParseResponse(block []byte) (*Response, error) {
	line, rest := cutLine(block)
	r := &Response{}
	proto, after, _ := strings.Cut(string(line), " ")
	if !strings.HasPrefix(proto, "HTTP/") {
		return nil, fmt.Errorf("block begins with %.40q, not with an HTTP status line", line)
	}
	code, reason, _ := strings.Cut(strings.TrimLeft(after, " "), " ")
	status, err := strconv.Atoi(code)
	if err != nil || status < 100 || status > 999 {
		return nil, fmt.Errorf("status line %.40q has no status", line)
	}
	r.Proto, r.Status, r.Reason = proto, status, strings.TrimSpace(reason)
	var lines fieldLines
	for len(rest) > 0 {
		if line, rest = cutLine(rest); len(line) == 0 {
			break
		}
		lines.add(string(line))
	}
	r.Header = lines.header()
	r.Body = rest
	return r, nil
}

// cutLine cuts b after its first line feed and the line end off the line.
func cutLine(b []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(b, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), rest
}

// isToken reports whether s is a field name (RFC 9110 §5.6.2).
func isToken(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return true
}

// Payload returns the body without its transfer coding: if the header has chunked and the body consists of chunks,
// they are joined; any other body is returned unchanged (archives often have bodies whose chunks were joined while
// the header stayed). At most limit bytes.
func (r *Response) Payload(limit int64) ([]byte, error) {
	body := r.Body
	if strings.Contains(strings.ToLower(r.Header.Get("Transfer-Encoding")), "chunked") {
		if joined, ok := joinChunks(body); ok {
			body = joined
		}
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("payload of %d bytes, limit %d", len(body), limit)
	}
	return body, nil
}

// joinChunks decodes the chunked coding (RFC 9112 §7.1), trailers dropped; false if the body is not chunked.
func joinChunks(body []byte) (joined []byte, ok bool) {
	joined = make([]byte, 0, len(body))
	for {
		line, rest := cutLine(body)
		size, _, _ := strings.Cut(string(line), ";")
		n, err := strconv.ParseUint(strings.TrimSpace(size), 16, 31)
		if err != nil {
			return nil, false
		}
		if n == 0 {
			return joined, true
		}
		if uint64(len(rest)) < n {
			return nil, false
		}
		joined = append(joined, rest[:n]...)
		end, after := cutLine(rest[n:])
		if len(end) != 0 {
			return nil, false
		}
		body = after
	}
}

// ReadOne reads the one record in b, which is the response to a range request for one member, exactly. Digests in
// the record (SHA-1 and SHA-256, base32 or hex) must match.
func ReadOne(b []byte, limits Limits) (*Record, []byte, error) {
	r := NewReader(bytes.NewReader(b), int64(len(b)), limits)
	record, err := r.Next()
	if err == io.EOF {
		return nil, nil, errors.New("range holds no WARC record")
	}
	if err != nil {
		return nil, nil, err
	}
	block, err := io.ReadAll(record.Block)
	if err != nil {
		return nil, nil, err
	}
	if _, err := r.Next(); err != io.EOF {
		return nil, nil, fmt.Errorf("range of %d bytes holds more than one WARC record", len(b))
	}
	if err := record.checkDigests(block); err != nil {
		return nil, nil, err
	}
	record.Block = bytes.NewReader(block)
	return record, block, nil
}
