package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/platform/archive"
	"forager/internal/platform/objects"
	"forager/internal/stream"
	"forager/schemas"
	tables "forager/schemas/clickhouse"
)

// sameAsTopics compares the archive with the topics, record by record, and returns the number of records by
// topic, and of those in two files. It waits until the archive has reached the current ends of the topics.
func (r *rig) sameAsTopics(t *testing.T) (count map[string]int, doubles int) {
	t.Helper()
	store, err := objects.Open(r.cfg.S3)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.s, time.Minute)
	defer cancel()
	for {
		lag, err := r.books.Client.Lag(ctx, "archive-parquet", archive.Topics...)
		if err != nil {
			t.Fatal(err)
		}
		if lag == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	h := cli.NewArchiveHistory(store)
	count = make(map[string]int)
	for _, topic := range archive.Topics {
		for p := range r.cfg.Topics[topic].Partitions {
			first, end, err := r.books.Client.Offsets(ctx, topic, p)
			if err != nil {
				t.Fatal(err)
			}
			var want []stream.Record
			if err := r.books.Client.Read(ctx, topic, p, first, end, func(r stream.Record) error { want = append(want, r); return nil }); err != nil {
				t.Fatal(err)
			}
			i := 0
			err = h.Read(ctx, topic, p, first, end, func(got stream.Record) error {
				w := want[i]
				if got.Topic != w.Topic || got.Partition != w.Partition || got.Offset != w.Offset || !got.Time.Equal(w.Time) ||
					!bytes.Equal(got.Key, w.Key) || !bytes.Equal(got.Value, w.Value) || !maps.Equal(got.Headers, w.Headers) {
					return fmt.Errorf("%s/%d: archived %+v, the topic has %+v", topic, p, got, w)
				}
				i++
				return nil
			})
			if err != nil || i != len(want) {
				t.Errorf("%s/%d: %d of %d records are archived: %v", topic, p, i, len(want), err)
			}
			count[topic] += i
		}
	}
	t.Logf("%v records in %d files, %d of them twice", count, h.Report.Files, h.Report.Doubles)
	return count, h.Report.Doubles
}

// TestTheArchive kills archive-parquet between two files and between upload and commit, then kills one of two
// that share the topics; every record of the topics must be in the archive once.
func TestTheArchive(t *testing.T) {
	t.Parallel()
	g, _ := simulated(t)
	r := newRig(t, g.Handler)
	r.parts()
	others := slices.DeleteFunc(slices.Clone(cli.StageNames), func(s string) bool { return s == "archive-parquet" })
	r.start(others)
	r.begin(r.crawl(g, "first", "apprentice", 200, nil))
	archivist := []string{"archive-parquet"}
	for _, failpoint := range []string{"archived-a-part:3", "inserted-before-commit:1"} {
		r.start(archivist, "FORAGER_FAILPOINT="+failpoint)
		if err := r.gone("archive-parquet-0", 3*time.Minute); err != nil {
			t.Fatalf("%s was never reached: %v", failpoint, err)
		}
	}
	r.cfg.Stages.ArchiveParquet.Replicas = 2
	r.start(archivist)
	for i := range 2 {
		name := fmt.Sprint("archive-parquet-", i)
		r.until("first", name+" in its group", time.Minute, func(*schemas.CrawlStatus) bool { return r.joined(name) })
	}
	r.begin(r.crawl(g, "second", "apprentice", 200, nil))
	r.until("second", "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 100 })
	r.kill("archive-parquet-1")
	r.start(archivist)
	r.until("second", "finished", time.Minute, finished)
	r.until("first", "finished", time.Minute, finished)
	if err := crawls.Settle(r.s, r.books, time.Minute); err != nil {
		t.Fatal(err)
	}
	count, doubles := r.sameAsTopics(t)
	if doubles == 0 {
		t.Error("no file overlaps another: the kills proved nothing")
	}
	for _, topic := range archive.Topics {
		if count[topic] == 0 {
			t.Errorf("no record of %s", topic)
		}
	}
	r.archiveQueries(t, count)
}

// archiveQueries runs every documented query of the archive, with ClickHouse's own reader.
func (r *rig) archiveQueries(t *testing.T, count map[string]int) {
	list := r.mustRun("query", "--list")
	for _, q := range tables.ArchiveQueries() {
		if !strings.Contains(list, q.Name) {
			t.Errorf("query --list lacks %s", q.Name)
		}
		var result struct{ Data []map[string]any }
		args := []string{"--json", "query", "--example", q.Name}
		if q.OfCrawl {
			args = append(args, "--crawl", "first")
		}
		if err := json.Unmarshal([]byte(r.mustRun(args...)), &result); err != nil {
			t.Errorf("query --example %s: %v", q.Name, err)
		}
		if len(result.Data) == 0 {
			t.Errorf("query --example %s: no rows", q.Name)
		}
		if q.Name != "archived" {
			continue
		}
		records, twice := make(map[string]int), 0
		for _, row := range result.Data {
			number := func(column string) int {
				n, err := strconv.Atoi(fmt.Sprint(row[column]))
				if err != nil {
					t.Error(err)
				}
				return n
			}
			records[row["topic"].(string)] += number("records")
			twice += number("twice")
			if number("missing")+number("undecodable") > 0 {
				t.Errorf("in the archive: %v", row)
			}
		}
		if !maps.Equal(records, count) || twice == 0 {
			t.Errorf("ClickHouse finds %v and %d doubles, want %v and some", records, twice, count)
		}
	}
}
