package deadletter

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/cmd/internal/cli"
	"forager/internal/stream"
	"forager/schemas"
)

// Command is the commands below "forager dead".
type Command struct {
	List   deadList   `cmd:"" help:"Which records no stage could handle."`
	Show   deadShow   `cmd:"" help:"A dead letter with its record."`
	Replay deadReplay `cmd:"" help:"Try the requests of dead letters once more."`
}

// Letter is a dead letter, for display.
type Letter struct {
	// Number is its offset in dead.letter.
	Number  int64     `json:"number"`
	At      time.Time `json:"at"`
	Stage   string    `json:"stage"`
	Topic   string    `json:"topic"`
	Of      string    `json:"of"` // partition/offset of the record in its topic
	Crawl   string    `json:"crawl,omitempty"`
	URL     string    `json:"url,omitempty"`
	Request string    `json:"request,omitempty"`
	Error   string    `json:"error"`
	Tries   uint32    `json:"tries"`

	Dead *schemas.DeadLetter `json:"-"`
}

func newLetter(r stream.Record) (Letter, error) {
	l := new(schemas.DeadLetter)
	if err := proto.Unmarshal(r.Value, l); err != nil {
		return Letter{}, fmt.Errorf("%s offset %d cannot be read: %w", r.Topic, r.Offset, err)
	}
	headers := headersOf(l)
	return Letter{
		Number: r.Offset, At: time.UnixMilli(l.GetAt()).UTC(), Stage: l.GetStage(), Topic: l.GetTopic(),
		Of: fmt.Sprintf("%d/%d", l.GetPartition(), l.GetOffset()), Crawl: headers[schemas.HeaderCrawl], URL: headers[schemas.HeaderURL],
		Request: headers[schemas.HeaderID], Error: l.GetError(), Tries: l.GetTries(), Dead: l,
	}, nil
}

// headersOf returns the headers of the record that a letter contains.
func headersOf(l *schemas.DeadLetter) map[string]string {
	h := make(map[string]string, len(l.GetHeaders()))
	for _, x := range l.GetHeaders() {
		h[x.GetKey()] = string(x.GetValue())
	}
	return h
}

// letters calls f for each dead letter that is retained, oldest first.
func letters(ctx context.Context, b *cli.Topics, f func(Letter) error) error {
	const topic = schemas.TopicDeadLetter
	n, err := b.Client.Partitions(ctx, topic)
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("topic %s has %d partitions; letters are numbered by their offset in a single one", topic, n)
	}
	first, end, err := b.Client.Offsets(ctx, topic, 0)
	if err != nil {
		return err
	}
	return b.Client.Read(ctx, topic, 0, first, end, func(r stream.Record) error {
		l, err := newLetter(r)
		if err != nil {
			return err
		}
		return f(l)
	})
}

// letterFilter chooses letters.
type letterFilter struct {
	Crawl string `help:"Of this crawl only."`
	Stage string `help:"Of this stage only."`
}

func (f *letterFilter) Validate() error {
	if f.Stage != "" && !slices.Contains(cli.StageNames, f.Stage) {
		return fmt.Errorf("--stage %q is none of %s", f.Stage, strings.Join(cli.StageNames, ", "))
	}
	return nil
}

func (f *letterFilter) takes(l Letter) bool {
	return (f.Crawl == "" || f.Crawl == l.Crawl) && (f.Stage == "" || f.Stage == l.Stage)
}

// numbered finds letters by their numbers, in that order.
func numbered(ctx context.Context, b *cli.Topics, numbers []int64) ([]Letter, error) {
	found := make(map[int64]Letter, len(numbers))
	err := letters(ctx, b, func(l Letter) error {
		if slices.Contains(numbers, l.Number) {
			found[l.Number] = l
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var list []Letter
	var missing []string
	for _, n := range numbers {
		if l, ok := found[n]; ok {
			list = append(list, l)
		} else {
			missing = append(missing, strconv.FormatInt(n, 10))
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("no dead letter %s; forager dead list shows those that are retained", strings.Join(missing, ", "))
	}
	return list, nil
}
