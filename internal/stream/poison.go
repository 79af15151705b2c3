package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"forager/schemas"

	"google.golang.org/protobuf/proto"
)

// tryPause is the pause between two tries of a record.
const tryPause = 20 * time.Millisecond

// attempt calls f and returns a panic as its error.
func attempt(f func() ([]Out, error)) (outs []Out, err error) {
	defer func() {
		if p := recover(); p != nil {
			outs, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// try calls f up to tries times; it returns f's last error and the number of calls.
func try(ctx context.Context, tries int, f func() ([]Out, error)) (outs []Out, made int, err error) {
	for made = 1; ; made++ {
		outs, err = attempt(f)
		if err == nil || classOf(err) != perRecord || made >= tries {
			return outs, made, err
		}
		timer := time.NewTimer(tryPause << (made - 1))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, made, classify(ended, ctx.Err())
		}
	}
}

// poisoned returns the outputs for a record that failed: those of poison, and the dead letter. An
// error is Unavailable or Broken.
func poisoned(stage string, poison func(Record, error) ([]Out, error), r Record, cause error, tries int) ([]Out, error) {
	var outs []Out
	if poison != nil {
		var err error
		outs, err = attempt(func() ([]Out, error) { return poison(r, cause) })
		switch classOf(err) {
		case unavailable, broken, ended:
			return nil, fmt.Errorf("poison record %s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		if err != nil {
			outs, cause = nil, fmt.Errorf("%w; nothing travels on: %w", cause, err)
		}
	}
	letter, err := deadLetter(stage, r, cause, tries)
	if err != nil {
		return nil, Broken(err)
	}
	return append(outs, letter), nil
}

const (
	// A dead letter has a value up to maxLetterValue and an error text up to maxLetterError;
	// headers of other programs are truncated too. Together they stay below dead.letter's 8 MiB.
	maxLetterValue   = 7 << 20
	maxLetterError   = 16 << 10
	maxLetterHeaders = 256 << 10
)

// deadLetter returns the message for dead.letter. Its headers are the record's, so that the request
// is known without decoding; what does not fit is truncated, which the error reports.
func deadLetter(stage string, r Record, cause error, tries int) (Out, error) {
	text := strings.ToValidUTF8(cause.Error(), "\uFFFD")
	letter := &schemas.DeadLetter{
		Stage: stage, Topic: r.Topic, Partition: uint32(r.Partition), Offset: r.Offset,
		Key: r.Key, Value: r.Value, Tries: uint32(tries), At: time.Now().UnixMilli(),
	}
	if len(text) > maxLetterError {
		text = strings.ToValidUTF8(text[:maxLetterError], "") + " …"
	}
	if n := len(r.Value); n > maxLetterValue {
		letter.Value = r.Value[:maxLetterValue]
		text += fmt.Sprintf(" (value of %d bytes cut to %d)", n, maxLetterValue)
	}
	if n := len(r.Key); n > maxLetterHeaders {
		letter.Key = r.Key[:maxLetterHeaders]
		text += fmt.Sprintf(" (key of %d bytes cut to %d)", n, maxLetterHeaders)
	}
	headers, bytes := map[string]string{}, 0
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		value := r.Headers[name]
		if bytes += len(name) + len(value); bytes > maxLetterHeaders {
			text += " (headers cut)"
			break
		}
		letter.Headers = append(letter.Headers, &schemas.Header{Key: strings.ToValidUTF8(name, "\uFFFD"), Value: []byte(value)})
		switch name {
		case schemas.HeaderCrawl, schemas.HeaderID, schemas.HeaderURL, schemas.HeaderHost, schemas.HeaderShard, schemas.HeaderEpoch, schemas.HeaderOwner:
			headers[name] = value
		}
	}
	headers[schemas.HeaderVersion] = strconv.Itoa(schemas.Version)
	letter.Error = text
	value, err := proto.Marshal(letter)
	if err != nil {
		return Out{}, fmt.Errorf("dead letter for %s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err)
	}
	return Out{Topic: schemas.TopicDeadLetter, Partition: -1, Key: letter.Key, Value: value, Headers: headers}, nil
}

var errNoVersion = errors.New("the record has no header " + strconv.Quote(schemas.HeaderVersion) + " with a schema version: no program of Forager wrote it")
