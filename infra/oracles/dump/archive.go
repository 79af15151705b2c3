package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"forager/infra/local/chdb"
	"forager/internal/page/dom"
	"forager/internal/platform/archive"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/rank/linkfeature"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/web/weburl"
	"forager/schemas"
	"forager/schemas/column"
)

// archiveDump is files of the archive, and the records that they must hold.
type archiveDump struct {
	Files   []string          `json:"files"` // paths below the folder
	Records []archivedMessage `json:"records"`
	// Columns are those of each topic.
	Columns map[string][]archivedColumn `json:"columns"`
}

// archivedColumn is a column, or one of the elements of a list, as column.ColumnOption has it.
type archivedColumn struct {
	Name    string           `json:"name"`
	From    string           `json:"from"`
	Type    string           `json:"type"`
	Columns []archivedColumn `json:"columns"`
}

func archivedColumns(columns []column.Column) (all []archivedColumn) {
	for _, c := range columns {
		all = append(all, archivedColumn{c.Name, c.From, c.Type, archivedColumns(c.Columns)})
	}
	return all
}

// archivedMessage is a record of a topic; Message and Parsed are null if the bytes cannot be decoded.
type archivedMessage struct {
	Topic     string            `json:"topic"`
	Partition int               `json:"partition"`
	Offset    int64             `json:"offset"`
	Time      int64             `json:"time"` // milliseconds
	Key       string            `json:"key"`  // hexadecimal
	Value     string            `json:"value"`
	Headers   map[string]string `json:"headers"`
	Message   json.RawMessage   `json:"message"`
	Parsed    json.RawMessage   `json:"parsed,omitempty"` // the page in page.judged
}

// dumpArchive writes files of the archive into a folder: with -web of records made from the pages of a frozen
// web, in overlapping files; with -config those in the object store of a running pipeline, with the records
// that its topics retain.
func dumpArchive(args []string) error {
	flags := flag.NewFlagSet("archive", flag.ContinueOnError)
	out := flags.String("out", "", "`folder` to write to")
	web := flags.String("web", "", "WARC `file`")
	config := flags.String("config", "", "pipeline `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var dump *archiveDump
	var err error
	if *config != "" {
		dump, err = copyArchive(context.Background(), *config, *out)
	} else {
		dump, err = makeArchive(*web, *out)
	}
	if err != nil {
		return err
	}
	tables, err := column.Archives(schemas.Files())
	if err != nil {
		return err
	}
	dump.Columns = make(map[string][]archivedColumn)
	for _, topic := range archive.Topics {
		for _, t := range tables {
			if t.Message == schemas.Record(topic).ProtoReflect().Descriptor() {
				dump.Columns[topic] = archivedColumns(t.Columns)
			}
		}
	}
	return writeJSON(dump)
}

// add adds a record of a topic.
func (d *archiveDump) add(r *archive.Record) error {
	m := archivedMessage{
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Time: r.Time.UnixMilli(), Key: hex.EncodeToString(r.Key),
		Value: hex.EncodeToString(r.Value), Headers: r.Headers,
	}
	text := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}
	record := schemas.Record(r.Topic)
	if proto.Unmarshal(r.Value, record) == nil {
		var err error
		if m.Message, err = text.Marshal(record); err != nil {
			return err
		}
	}
	if judged, ok := record.(*schemas.PageJudged); ok && m.Message != nil {
		parsed := new(schemas.PageParsed)
		if proto.Unmarshal(judged.Parsed, parsed) == nil {
			var err error
			if m.Parsed, err = text.Marshal(parsed); err != nil {
				return err
			}
		}
	}
	d.Records = append(d.Records, m)
	return nil
}

// put writes a file of the archive.
func (d *archiveDump) put(folder, key string, data []byte) error {
	path := filepath.Join(folder, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	d.Files = append(d.Files, key)
	return os.WriteFile(path, data, 0o644)
}

const (
	archivePages      = 300
	archivePartitions = 2
)

func makeArchive(web, folder string) (*archiveDump, error) {
	pages, err := answers(web)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(2026, 11))
	lanes := make(map[string][]archive.Record) // by topic and partition
	add := func(topic string, partition int, value []byte, headers map[string]string) {
		lane := fmt.Sprint(topic, "/", partition)
		lanes[lane] = append(lanes[lane], archive.Record{
			Topic: topic, Partition: partition, Offset: int64(len(lanes[lane])), Time: time.UnixMilli(1_700_000_000_000 + random.Int64N(1e9)),
			Key: fmt.Append(nil, "kéy", partition), Value: value, Headers: headers,
		})
	}
	for i, stored := range pages[:min(archivePages, len(pages))] {
		for topic, values := range recordsOf(random, stored) {
			for _, value := range values {
				add(topic, i%archivePartitions, value, map[string]string{schemas.HeaderVersion: "1", schemas.HeaderURL: stored.url})
			}
		}
		if i%40 == 0 {
			for _, topic := range archive.Topics {
				add(topic, i%archivePartitions, []byte("\xff\x00garbage\n"), nil)
				add(topic, i%archivePartitions, nil, map[string]string{"": "", "x": "ü\x00y"})
			}
		}
	}
	dump := new(archiveDump)
	for _, topic := range archive.Topics {
		for p := range archivePartitions {
			lane := lanes[fmt.Sprint(topic, "/", p)]
			for i := range lane {
				if err := dump.add(&lane[i]); err != nil {
					return nil, err
				}
			}
			n := len(lane)
			for _, part := range [][]archive.Record{lane[:n/3], lane[:n/2], lane[n/2-3:], lane[n-1:]} {
				var b bytes.Buffer
				name, err := archive.Write(&b, part)
				if err != nil {
					return nil, err
				}
				if err := dump.put(folder, name.Key(), b.Bytes()); err != nil {
					return nil, err
				}
			}
		}
	}
	return dump, nil
}

// recordsOf returns the records, by topic, of a crawl that fetches the page.
func recordsOf(random *rand.Rand, stored answered) map[string][][]byte {
	url := unnamed
	if u, err := weburl.Parse(stored.url); err == nil {
		url = u.String()
	}
	page, err := dom.Parse(stored.body, stored.contentType, url, dom.Settings{})
	if err != nil {
		return nil
	}
	if random.IntN(4) == 0 { // fields that few of these pages have
		page.Noindex, page.Cut, page.TokenizerOnly, page.Fingerprint = random.IntN(2) == 0, random.IntN(2) == 0, random.IntN(2) == 0, math.MaxUint64
		page.Canonical, page.Language = url+"#ü", "de"
	}
	id := schemas.RequestID("webkb", url, 1).Bytes()
	judgement := &schemas.Judgement{
		Raw: random.Float64(), Tempered: random.Float64(), Calibrated: random.Float64(), BestIsFocus: random.IntN(2) == 0, Critic: "schools/0123456789ab", KnownTokens: uint64(len(page.Tokens)),
		Topics: []*schemas.TopicScore{{Topic: "Science/Chemistry", Tempered: .5}, {Topic: "Ärts", Tempered: random.Float64()}},
		Guidance: []*schemas.Guidance{
			{Guide: "near/1", Scores: []float64{random.NormFloat64(), random.NormFloat64()}, States: [][]byte{{0, 255}, []byte("ü")}}, {Guide: "far/1", Failure: "timeout"},
		}[:random.IntN(3)],
		Marking: random.Uint64(), Degraded: []string{"", "the service did not answer"}[random.IntN(2)],
		Shadows: []*schemas.Shadow{
			{Critic: "rules/1", Raw: random.Float64(), Tempered: random.Float64(), Calibrated: random.Float64(), BestIsFocus: random.IntN(2) == 0, KnownTokens: random.Uint64()},
			{Critic: "slow/1", Failure: "timeout"},
		}[:random.IntN(3)],
	}
	outcome := schemas.Outcome_OUTCOME_DELIVERED
	parsed := &schemas.PageParsed{Crawl: "webkb", Id: id, Outcome: outcome, Status: 200, FetchedAt: random.Int64N(1 << 40), Page: page}
	judged := &schemas.PageJudged{Crawl: "webkb", Id: id, Outcome: outcome, Judgement: judgement}
	found := &schemas.LinkFound{Crawl: "webkb", Id: id, Url: url, Outcome: outcome, Judgement: judgement, Fingerprint: page.Fingerprint, FetchedAt: parsed.FetchedAt}
	out := make(map[string][][]byte)
	marshal := func(topic string, m proto.Message) []byte {
		b, err := proto.Marshal(m)
		if err != nil {
			panic(err) // it was made here
		}
		if topic != "" {
			out[topic] = append(out[topic], b)
		}
		return b
	}
	if random.IntN(6) == 0 { // it failed
		parsed = &schemas.PageParsed{Crawl: "webkb", Id: id, Outcome: schemas.Outcome_OUTCOME_CLIENT_ERROR, Status: 404, Detail: "404 Not Found"}
		judged.Outcome, judged.Judgement = parsed.Outcome, nil
		found = &schemas.LinkFound{Crawl: "webkb", Shard: 3, Id: id, Url: url, Outcome: schemas.Outcome_OUTCOME_REDIRECTED, Status: 301, Redirect: url + "x", NotBefore: 5}
	} else {
		s := linkfeature.Settings{DMax: 5, Topics: schemas.TopicFeatures_TOPIC_FEATURES_TOP2}
		found.Table, found.Links, found.Cut, err = linkfeature.Extract(page, judgement, s)
		if err != nil {
			panic(err)
		}
		found.Cut = found.Cut || random.IntN(4) == 0
		for i, l := range found.Links {
			l.Nofollow = i%3 == 1
		}
		for _, l := range found.Links[:min(3, len(found.Links))] {
			leap := &schemas.LeapSettled{
				Id: schemas.LeapID("webkb", url, l.Url).Bytes(), Crawl: "webkb", U: url, V: l.Url, Outcome: outcome, TargetRaw: random.Float64(),
				TargetTempered: random.Float64(), SourceRaw: judgement.Raw, SourceTempered: judgement.Tempered, Score: random.NormFloat64(),
				Features: linkfeature.Features(found.Table, l, 5), Policy: "apprentice", Trains: true, Forward: random.IntN(2) == 0, Request: id, Pages: random.Uint64(),
				Shadows: []*schemas.ShadowPlace{{Policy: "a", Tier: 3, Score: random.NormFloat64(), Model: "c/1"}, {Policy: "b", Dropped: true}}[:random.IntN(3)],
			}
			if random.IntN(5) == 0 {
				leap.Outcome, leap.TargetRaw, leap.TargetTempered, leap.Trains = schemas.Outcome_OUTCOME_FAILED_PARSE_DOM, 0, 0, false
			}
			marshal(schemas.TopicLeapSettled, leap)
		}
		marshal(schemas.TopicLeapSettled, &schemas.LeapSettled{Id: id, Crawl: "webkb", Pages: 7, Boundary: true})
	}
	judged.Parsed = marshal("", parsed)
	marshal(schemas.TopicPageJudged, judged)
	found.Role = []schemas.LinkRole{schemas.LinkRole_LINK_ROLE_VERDICT, schemas.LinkRole_LINK_ROLE_LINKS, schemas.LinkRole_LINK_ROLE_NOTE}[random.IntN(3)]
	marshal(schemas.TopicLinkFound, found)
	return out
}

// copyArchive copies the archive of a running pipeline, and lists the records that its topics retain.
func copyArchive(ctx context.Context, config, folder string) (*archiveDump, error) {
	cfg, err := pipeline.Load(config)
	if err != nil {
		return nil, err
	}
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return nil, err
	}
	client, err := kafka.Dial(cfg.Kafka, cfg.Topics, slog.New(slog.NewTextHandler(os.Stderr, nil)), nil)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	dump := new(archiveDump)
	for _, topic := range archive.Topics {
		for o, err := range store.List(ctx, archive.Prefix(topic)) {
			if err != nil {
				return nil, err
			}
			data, err := store.Get(ctx, o.Key)
			if err != nil {
				return nil, err
			}
			if err := dump.put(folder, o.Key, data); err != nil {
				return nil, err
			}
		}
		for p := range cfg.Topics[topic].Partitions {
			first, end, err := client.Offsets(ctx, topic, p)
			if err != nil {
				return nil, err
			}
			err = client.Read(ctx, topic, p, first, end, func(r stream.Record) error {
				record := archive.Record(r)
				return dump.add(&record)
			})
			if err != nil {
				return nil, err
			}
		}
	}
	if len(dump.Files) == 0 {
		return nil, errors.New("the archive is empty")
	}
	return dump, nil
}

// queryFiles runs a query with ClickHouse's engine: -dir is its database, the query's result must be JSON.
func queryFiles(args []string) error {
	flags := flag.NewFlagSet("clickhouse", flag.ContinueOnError)
	dir := flags.String("dir", "", "`folder` of the engine's database")
	sql := flags.String("query", "", "`SELECT` statement")
	if err := flags.Parse(args); err != nil {
		return err
	}
	conn, err := chdb.Connect(*dir)
	if err != nil {
		return err
	}
	defer conn.Close()
	result, err := conn.Query(*sql, "JSON")
	if err != nil {
		return err
	}
	defer result.Free()
	_, err = os.Stdout.Write(result.Data)
	return err
}
