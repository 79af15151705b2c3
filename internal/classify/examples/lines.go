package examples

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"forager/internal/page/dom"
)

// maxLine is the maximum length of a line of JSON Lines, bytes.
const maxLine = 64 << 20

// ReadLines reads JSON Lines; name is the source's name in reports. Fields other than url, topics, text and html
// are ignored, and so are empty lines. A line has at most 64 MiB. The error is one of reading or of the intake.
func ReadLines(ctx context.Context, r io.Reader, name string, in *Intake) error {
	lines := bufio.NewReaderSize(r, 1<<20)
	var line []byte
	var err error
	for at := (Place{Source: name, Unit: "line", At: 1}); err == nil; at.At++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var tooLong bool
		line, tooLong, err = readLine(lines, line[:0])
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s: %w", at, err)
		}
		if at.At == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		switch line = bytes.TrimSpace(line); {
		case tooLong:
			in.Refuse(TooLong, at, fmt.Sprintf("more than %d bytes", maxLine))
		case len(line) > 0:
			if err := addLine(in, at, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// readLine reads a line into buf, without its end; the rest of a line that is too long is skipped.
func readLine(in *bufio.Reader, buf []byte) (line []byte, tooLong bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(buf)+len(part) > maxLine {
			tooLong, buf = true, buf[:0]
		} else if !tooLong {
			buf = append(buf, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buf, tooLong, err
		}
	}
}

// labelled is an example in JSON.
type labelled struct {
	URL    string    `json:"url"`
	Topics topicList `json:"topics"`
	Text   string    `json:"text"`
	HTML   string    `json:"html"`
}

// topicList is at most maxTopics names. It is decoded one by one: otherwise a line of a few megabytes could become
// a slice of gigabytes.
type topicList []string

var errTooManyTopics = fmt.Errorf("an example has more than %d topics", maxTopics)

// UnmarshalJSON reads null or a list of strings.
func (t *topicList) UnmarshalJSON(b []byte) error {
	*t = nil
	d := json.NewDecoder(bytes.NewReader(b))
	if begin, err := d.Token(); err != nil || begin == nil {
		return err
	} else if begin != json.Delim('[') {
		return fmt.Errorf("topics is %.40s, not a list of strings", b)
	}
	for d.More() {
		if len(*t) == maxTopics {
			return errTooManyTopics
		}
		var name string
		if err := d.Decode(&name); err != nil {
			return fmt.Errorf("topics: %w", err)
		}
		*t = append(*t, name)
	}
	return nil
}

// absoluteURL matches the beginning of URLs. URLs that cannot be crawled, such as those of files, still name a page.
var absoluteURL = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://[^\s]+$`)

func addLine(in *Intake, at Place, line []byte) error {
	var x labelled
	err := json.Unmarshal(line, &x)
	switch {
	case errors.Is(err, errTooManyTopics):
		in.Refuse(TooLong, at, err.Error())
		return nil
	case err != nil:
		in.Refuse(BadLine, at, err.Error())
		return nil
	case x.URL != "" && !absoluteURL.MatchString(strings.TrimSpace(x.URL)):
		in.Refuse(BadURL, at, fmt.Sprintf("url %.200q is not a URL such as https://example.org/page", x.URL))
		return nil
	case x.Text != "" && x.HTML != "":
		in.Refuse(BadLine, at, "text and html are both given")
		return nil
	case x.HTML != "":
		x.Text = dom.Text([]byte(x.HTML), "text/html; charset=utf-8")
	}
	return in.Add(at, x.URL, x.Topics, x.Text)
}
