package deadletter

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"forager/cmd/internal/cli"
	"forager/internal/operate"
	"forager/schemas"
)

type deadShow struct {
	Number int64 `arg:"" help:"Number of the letter (forager dead list)."`
	Raw    bool  `help:"Print the bytes of the record and nothing else."`
}

func (c *deadShow) Run(s *cli.Session) error {
	_, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	found, err := (&operate.LetterChoice{Numbers: []int64{c.Number}}).Letters(s, b)
	if err != nil {
		return err
	}
	l := found[0]
	if c.Raw {
		_, err := s.Data.Write(l.Dead.GetValue())
		return err
	}
	text, problem := decoded(l.Dead)
	document := struct {
		operate.Letter
		Headers map[string]string `json:"headers"`
		Key     string            `json:"key"`
		Bytes   int               `json:"bytes"`
		Record  json.RawMessage   `json:"record,omitempty"`
		Problem string            `json:"record_problem,omitempty"`
		Replay  string            `json:"no_replay,omitempty"`
	}{Letter: l, Headers: l.Headers(), Key: fmt.Sprintf("%q", l.Dead.GetKey()), Bytes: len(l.Dead.GetValue()), Record: text, Problem: problem}
	if _, err := operate.AskReplay(l, time.Now()); err != nil {
		document.Replay = err.Error()
	}
	return s.Print(document, func(w io.Writer) {
		fmt.Fprintf(w, "letter %d of %s, from %s after %d tries\nerror: %s\n", l.Number, l.At.Format(time.RFC3339), l.Stage, l.Tries, l.Error)
		fmt.Fprintf(w, "record: %s, partition/offset %s, key %s, %d bytes\n", l.Topic, l.Of, document.Key, document.Bytes)
		for _, h := range l.Dead.GetHeaders() {
			fmt.Fprintf(w, "  %s: %s\n", h.GetKey(), h.GetValue())
		}
		if problem != "" {
			head := l.Dead.GetValue()
			fmt.Fprintf(w, "%s; it begins:\n%s", problem, hex.Dump(head[:min(len(head), 256)]))
		} else {
			fmt.Fprintf(w, "%s\n", text)
		}
		if document.Replay != "" {
			fmt.Fprintf(w, "no replay: %s\n", document.Replay)
		} else {
			fmt.Fprintf(w, "try its request once more:  forager dead replay %d\n", l.Number)
		}
	})
}

// decoded returns the record of a letter as JSON, or the reason why it cannot be decoded.
func decoded(l *schemas.DeadLetter) (text []byte, problem string) {
	m := schemas.Record(l.GetTopic())
	if m == nil {
		return nil, fmt.Sprintf("topic %q holds no known records", l.GetTopic())
	}
	if err := proto.Unmarshal(l.GetValue(), m); err != nil {
		return nil, fmt.Sprintf("the bytes are no record of %s", l.GetTopic())
	}
	text, err := protojson.MarshalOptions{Multiline: true, UseProtoNames: true}.Marshal(m)
	if err != nil {
		return nil, err.Error()
	}
	return text, ""
}
