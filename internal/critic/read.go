package critic

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"forager/internal/text"
	"forager/schemas"
)

const (
	// maxLine is the longest line of an example file, bytes.
	maxLine = 64 << 20
	// maxProblems is the number of bad lines that are described.
	maxProblems = 20
)

// LineErrors are the bad lines of an example file.
type LineErrors struct {
	// Lines are the first of them.
	Lines []LineError
	// More is the number of the others.
	More int
}

// LineError is one bad line.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineErrors) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d bad lines:", len(e.Lines)+e.More)
	for _, l := range e.Lines {
		fmt.Fprintf(&s, "\n  line %d: %v", l.Line, l.Err)
	}
	if e.More > 0 {
		fmt.Fprintf(&s, "\n  and %d more", e.More)
	}
	return s.String()
}

// Unwrap returns the described errors.
func (e *LineErrors) Unwrap() []error {
	all := make([]error, len(e.Lines))
	for i, l := range e.Lines {
		all[i] = l.Err
	}
	return all
}

// ReadExamples reads examples, one JSON object a line, and cuts their words as the settings say; html parses the page of an example that
// is given as HTML. Fields beyond url, topics, text and html are ignored, and so are empty
// lines. The whole file is read before bad lines are reported, all at once, as *LineErrors.
func ReadExamples(r io.Reader, words text.Settings, html func(body []byte, url string) (*schemas.Page, error)) (*Examples, error) {
	var (
		e    = NewExamples(words)
		bad  LineErrors
		in   = bufio.NewReaderSize(r, 1<<20)
		line []byte
		err  error
	)
	for n := 1; err == nil; n++ {
		var tooLong bool
		line, tooLong, err = readLine(in, line[:0])
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read examples, line %d: %w", n, err)
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		problem := errors.New("longer than 64 MiB")
		if !tooLong {
			problem = e.addLine(line, html)
		}
		switch {
		case problem == nil:
		case len(bad.Lines) < maxProblems:
			bad.Lines = append(bad.Lines, LineError{n, problem})
		default:
			bad.More++
		}
	}
	if len(bad.Lines) > 0 {
		return nil, &bad
	}
	if e.Len() == 0 {
		return nil, errors.New("there is no example: one JSON object a line is wanted, with url, topics, and text or html")
	}
	return e, nil
}

// readLine reads a line into buf, without its end; one that is too long is read over.
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

func (e *Examples) addLine(line []byte, html func([]byte, string) (*schemas.Page, error)) error {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	var x struct {
		URL    string   `json:"url"`
		Topics []string `json:"topics"`
		Text   string   `json:"text"`
		HTML   string   `json:"html"`
	}
	if err := json.Unmarshal(line, &x); err != nil {
		return err
	}
	switch {
	case x.Text == "" && x.HTML == "":
		return errors.New("text and html are both empty or missing")
	case x.Text != "" && x.HTML != "":
		return errors.New("text and html are both given")
	case x.Text != "":
		return e.AddText(x.URL, x.Topics, x.Text)
	}
	p, err := html([]byte(x.HTML), x.URL)
	if err != nil {
		return fmt.Errorf("html: %w", err)
	}
	return e.AddPage(x.URL, x.Topics, p)
}
