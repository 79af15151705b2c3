package stream

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

const (
	// A dead letter has a value up to maxLetterValue and an error text up to maxLetterError;
	// headers of other programs are truncated too. Together they stay below dead.letter's 8 MiB.
	maxLetterValue   = 7 << 20
	maxLetterError   = 16 << 10
	maxLetterHeaders = 256 << 10
)

// DeadLetter returns the message for dead.letter about a record that a stage could not handle in a number of tries. Its headers are the record's, so that the request
// is known without decoding; what does not fit is truncated, which the error reports.
func DeadLetter(stage string, r Record, cause error, tries int) (Out, error) {
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
