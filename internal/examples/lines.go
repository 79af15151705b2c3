package examples

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"forager/internal/dom"
)

// maxLine is the longest line of JSON Lines, bytes.
const maxLine = 64 << 20

// ReadLines reads JSON Lines; name is what the source is called. Fields other than url, topics, text and
// html say nothing, and neither do empty lines. The error is one of reading or of the intake.
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

// labelled is an example as JSON has it.
type labelled struct {
	URL    string   `json:"url"`
	Topics []string `json:"topics"`
	Text   string   `json:"text"`
	HTML   string   `json:"html"`
}

func addLine(in *Intake, at Place, line []byte) error {
	var x labelled
	err := json.Unmarshal(line, &x)
	switch {
	case err != nil:
		in.Refuse(BadLine, at, err.Error())
		return nil
	case x.Text != "" && x.HTML != "":
		in.Refuse(BadLine, at, "text and html are both given")
		return nil
	case x.HTML != "":
		x.Text = dom.Text([]byte(x.HTML), "text/html; charset=utf-8")
	}
	return in.Add(at, x.URL, x.Topics, x.Text)
}
