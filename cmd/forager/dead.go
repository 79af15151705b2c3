package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"forager/internal/stream"
	"forager/internal/web/scope"
	"forager/schemas"
)

type deadCommand struct {
	List   deadList   `cmd:"" help:"Which records no stage could handle."`
	Show   deadShow   `cmd:"" help:"A dead letter with its record."`
	Replay deadReplay `cmd:"" help:"Try the requests of dead letters once more."`
}

// letter is a dead letter, for display.
type letter struct {
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

	record *schemas.DeadLetter
}

func newLetter(r stream.Record) (letter, error) {
	l := new(schemas.DeadLetter)
	if err := proto.Unmarshal(r.Value, l); err != nil {
		return letter{}, fmt.Errorf("%s offset %d cannot be read: %w", r.Topic, r.Offset, err)
	}
	headers := headersOf(l)
	return letter{
		Number: r.Offset, At: time.UnixMilli(l.GetAt()).UTC(), Stage: l.GetStage(), Topic: l.GetTopic(),
		Of: fmt.Sprintf("%d/%d", l.GetPartition(), l.GetOffset()), Crawl: headers[schemas.HeaderCrawl], URL: headers[schemas.HeaderURL],
		Request: headers[schemas.HeaderID], Error: l.GetError(), Tries: l.GetTries(), record: l,
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
func (b *books) letters(ctx context.Context, f func(letter) error) error {
	const topic = schemas.TopicDeadLetter
	n, err := b.client.Partitions(ctx, topic)
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("topic %s has %d partitions; the command knows its letters by their offset in one", topic, n)
	}
	first, end, err := b.client.Offsets(ctx, topic, 0)
	if err != nil {
		return err
	}
	return b.client.Read(ctx, topic, 0, first, end, func(r stream.Record) error {
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
	if f.Stage != "" && !slices.Contains(stageNames, f.Stage) {
		return fmt.Errorf("--stage %q is none of %s", f.Stage, strings.Join(stageNames, ", "))
	}
	return nil
}

func (f *letterFilter) takes(l letter) bool {
	return (f.Crawl == "" || f.Crawl == l.Crawl) && (f.Stage == "" || f.Stage == l.Stage)
}

type deadList struct {
	letterFilter
	Limit int `help:"The newest so many; 0 = all." default:"100"`
}

func (c *deadList) Help() string {
	return `A record that a stage could not handle is kept in the topic dead.letter, and its request was answered as
failed:STAGE, so that the crawl went on without it.

  forager dead list --crawl chemistry
  forager dead show 17
  forager dead replay 17`
}

func (c *deadList) Run(s *session) error {
	_, b, err := s.openBooks()
	if err != nil {
		return err
	}
	defer b.close()
	list, all := []letter{}, 0
	err = b.letters(s, func(l letter) error {
		if !c.takes(l) {
			return nil
		}
		all++
		l.record = nil
		if list = append(list, l); c.Limit > 0 && len(list) > 2*c.Limit {
			list = slices.Delete(list, 0, len(list)-c.Limit)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if all == 0 && c.Crawl != "" { // those of a deleted crawl may be retained
		if _, err := b.control(c.Crawl); err != nil {
			return err
		}
	}
	if c.Limit > 0 && len(list) > c.Limit {
		list = list[len(list)-c.Limit:]
	}
	return s.print(list, func(w io.Writer) {
		if all == 0 {
			fmt.Fprintln(w, "no dead letters")
			return
		}
		fmt.Fprintf(w, "%7s %-19s %-16s %-16s %-16s %s\n", "NUMBER", "AT", "STAGE", "TOPIC", "CRAWL", "ERROR AND URL")
		for _, l := range list {
			fmt.Fprintf(w, "%7d %-19s %-16s %-16s %-16s %s  %s\n", l.Number, l.At.Format("2006-01-02 15:04:05"), l.Stage, l.Topic, cmp.Or(l.Crawl, "-"), oneLine(l.Error, 120), l.URL)
		}
		if all > len(list) {
			fmt.Fprintf(w, "and %d older ones (--limit 0 shows all)\n", all-len(list))
		}
	})
}

// oneLine cuts a text for a table.
func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

type deadShow struct {
	Number int64 `arg:"" help:"Number of the letter (forager dead list)."`
	Raw    bool  `help:"Print the bytes of the record and nothing else."`
}

func (c *deadShow) Run(s *session) error {
	_, b, err := s.openBooks()
	if err != nil {
		return err
	}
	defer b.close()
	found, err := b.numbered(s, []int64{c.Number})
	if err != nil {
		return err
	}
	l := found[0]
	if c.Raw {
		_, err := s.data.Write(l.record.GetValue())
		return err
	}
	text, problem := decoded(l.record)
	document := struct {
		letter
		Headers map[string]string `json:"headers"`
		Key     string            `json:"key"`
		Bytes   int               `json:"bytes"`
		Record  json.RawMessage   `json:"record,omitempty"`
		Problem string            `json:"record_problem,omitempty"`
		Replay  string            `json:"no_replay,omitempty"`
	}{letter: l, Headers: headersOf(l.record), Key: fmt.Sprintf("%q", l.record.GetKey()), Bytes: len(l.record.GetValue()), Record: text, Problem: problem}
	if _, err := ask(l, time.Now()); err != nil {
		document.Replay = err.Error()
	}
	return s.print(document, func(w io.Writer) {
		fmt.Fprintf(w, "letter %d of %s, from %s after %d tries\nerror: %s\n", l.Number, l.At.Format(time.RFC3339), l.Stage, l.Tries, l.Error)
		fmt.Fprintf(w, "record: %s, partition/offset %s, key %s, %d bytes\n", l.Topic, l.Of, document.Key, document.Bytes)
		for _, h := range l.record.GetHeaders() {
			fmt.Fprintf(w, "  %s: %s\n", h.GetKey(), h.GetValue())
		}
		if problem != "" {
			head := l.record.GetValue()
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

// numbered finds letters by their numbers, in that order.
func (b *books) numbered(ctx context.Context, numbers []int64) ([]letter, error) {
	found := make(map[int64]letter, len(numbers))
	err := b.letters(ctx, func(l letter) error {
		if slices.Contains(numbers, l.Number) {
			found[l.Number] = l
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var list []letter
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

type deadReplay struct {
	Numbers []int64 `arg:"" optional:"" name:"number" help:"Numbers of letters (forager dead list)."`
	letterFilter
	Wait time.Duration `help:"How long to wait until the crawls have taken it; 0 = do not wait." default:"60s"`
}

func (c *deadReplay) Help() string {
	return `The URL of each letter's request is queued again, as its next attempt, with the score of the last. It is
charged to the budget again; links to it that were settled without a relevance stay so. A request is
replayed once; if it fails again, its new letter can be replayed.

  forager dead replay 17 18
  forager dead replay --crawl chemistry --stage parse-dom`
}

// replayed is the result of dead replay.
type replayed struct {
	// Asked is the number of requests; Refused of these have been tried again since, or have not failed.
	Asked   int    `json:"asked"`
	Refused uint64 `json:"refused"`
	// Skipped letters contain no request that could be tried again.
	Skipped int `json:"skipped"`
}

func (c *deadReplay) Run(s *session) error {
	if (len(c.Numbers) > 0) == (c.Crawl != "" || c.Stage != "") {
		return usagef("give numbers of letters, or --crawl and --stage that choose them")
	}
	_, b, err := s.openBooks()
	if err != nil {
		return err
	}
	defer b.close()
	var result replayed
	asks, err := c.choose(s, b, &result)
	if err != nil {
		return err
	}
	for _, crawl := range slices.Sorted(maps.Keys(asks)) {
		if err := b.replay(s, crawl, asks[crawl], c.Wait, &result); err != nil {
			return err
		}
	}
	return s.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "%d requests are to be tried again\n", uint64(result.Asked)-min(uint64(result.Asked), result.Refused))
		if result.Refused > 0 {
			fmt.Fprintf(w, "%d have been tried again since, or have not failed\n", result.Refused)
		}
		if result.Skipped > 0 {
			fmt.Fprintf(w, "%d letters are about no request that can be tried again (forager dead show says why)\n", result.Skipped)
		}
	})
}

// choose makes the records that request another attempt, by crawl. If letters are named, each must be
// replayable, or nothing is sent; of letters selected by a filter, others are skipped.
func (c *deadReplay) choose(s *session, b *books, result *replayed) (map[string][]*schemas.LinkFound, error) {
	asks, known := make(map[string][]*schemas.LinkFound), make(map[string]bool)
	take := func(l letter) error {
		rec, err := ask(l, time.Now())
		if err == nil {
			var ctl *schemas.CrawlControl
			if ctl, err = b.control(l.Crawl); err == nil {
				err = goesOn(ctl, b.status(l.Crawl))
			}
		}
		if err != nil {
			return fmt.Errorf("letter %d: %w", l.Number, err)
		}
		if id := string(rec.GetReplay()); !known[id] {
			known[id] = true
			asks[l.Crawl] = append(asks[l.Crawl], rec)
		}
		return nil
	}
	if len(c.Numbers) == 0 {
		if c.Crawl != "" {
			if _, err := b.control(c.Crawl); err != nil {
				return nil, err
			}
		}
		return asks, b.letters(s, func(l letter) error {
			if c.takes(l) && take(l) != nil {
				result.Skipped++
			}
			return nil
		})
	}
	letters, err := b.numbered(s, c.Numbers)
	if err != nil {
		return nil, err
	}
	var bad []error
	for _, l := range letters {
		bad = append(bad, take(l))
	}
	if err := errors.Join(bad...); err != nil {
		return nil, fmt.Errorf("%w; nothing was sent", err)
	}
	return asks, nil
}

// ask makes the record of link.found that requests another attempt for a letter. The error is the reason why there is none.
func ask(l letter, now time.Time) (*schemas.LinkFound, error) {
	switch l.Topic {
	case schemas.TopicFetchRequested, schemas.TopicPageFetched, schemas.TopicPageParsed, schemas.TopicPageJudged, schemas.TopicLinkFound:
	default:
		return nil, fmt.Errorf("a record of %s belongs to no request", l.Topic)
	}
	switch l.Stage {
	case "fetch", "parse-dom", "critic-score", "feature-extract", "prioritize":
	default:
		return nil, fmt.Errorf("its request went on: only %s could not handle the record", l.Stage)
	}
	request, err := schemas.RequestFromHeaders(headersOf(l.record))
	if err != nil {
		return nil, fmt.Errorf("it is about no request: %w", err)
	}
	id, err := schemas.ParseID(request.GetId())
	if err != nil {
		return nil, err
	}
	// The frontier decides whether a request can be replayed. A repeated call sends a new record, which it refuses and counts.
	name := schemas.RequestID(request.GetCrawl(), fmt.Sprintf("replay:%s:%d", id, now.UnixNano()), 0)
	return &schemas.LinkFound{
		Id: name.Bytes(), Crawl: request.GetCrawl(), Shard: request.GetShard(), Url: request.GetUrl(),
		Outcome: schemas.Outcome_OUTCOME_REPLAY, Replay: request.GetId(),
	}, nil
}

// replay sends the records of one crawl and counts the results.
func (b *books) replay(ctx context.Context, crawl string, asks []*schemas.LinkFound, wait time.Duration, result *replayed) error {
	before := b.status(crawl)
	last := make(map[int]int64) // by partition: shards have several
	for _, rec := range asks {
		shard := rec.GetShard()
		headers := map[string]string{schemas.HeaderCrawl: crawl, schemas.HeaderShard: strconv.FormatUint(uint64(shard), 10)}
		at, err := b.send(ctx, schemas.TopicLinkFound, schemas.ShardKey(crawl, shard), headers, rec)
		if err != nil {
			return fmt.Errorf("ask for a replay of %s: %w", rec.GetUrl(), err)
		}
		last[at.Partition] = at.Offset
		result.Asked++
	}
	if wait == 0 {
		return nil
	}
	if err := b.taken(ctx, crawl, last, wait); err != nil {
		return err
	}
	const reason = string(scope.Replay)
	was, is := before.GetRefused()[reason], b.status(crawl).GetRefused()[reason]
	result.Refused += is - min(is, was)
	return nil
}
