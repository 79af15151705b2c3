package schemas

import (
	"flag"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"forager/internal/testkit/filled"
)

var update = flag.Bool("update", false, "write stored bytes of records that have none yet")

var topics = []string{
	TopicCrawlControl, TopicCrawlStatus, TopicFetchRequested, TopicFetchTurn, TopicPageFetched, TopicPageParsed,
	TopicPageJudged, TopicPageRejudged, TopicLinkFound, TopicLeapSettled, TopicModelPublished, TopicHubRanked, TopicDeadLetter,
}

// TestStoredBytes decodes bytes that were written once, with the first release of each version, and
// compares the result with the one of then. The stored files are never written again; -update only
// adds files for records that have none.
func TestStoredBytes(t *testing.T) {
	versions, err := filepath.Glob("testdata/v*")
	if err != nil || len(versions) == 0 {
		t.Fatalf("no stored bytes: %v", err)
	}
	for _, dir := range versions {
		for _, topic := range topics {
			bin, text := filepath.Join(dir, topic+".bin"), filepath.Join(dir, topic+".json")
			if _, err := os.Stat(bin); os.IsNotExist(err) && *update {
				m := Record(topic)
				filled.Message(m.ProtoReflect())
				b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				j, err := protojson.MarshalOptions{Multiline: true, UseProtoNames: true}.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(bin, b, 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(text, append(j, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			b, err := os.ReadFile(bin)
			if err != nil {
				t.Fatal(err)
			}
			got := Record(topic)
			if err := proto.Unmarshal(b, got); err != nil {
				t.Fatalf("%s: %v", bin, err)
			}
			if unknown := got.ProtoReflect().GetUnknown(); len(unknown) > 0 {
				t.Errorf("%s: %d bytes of unknown fields: a field number was dropped", bin, len(unknown))
			}
			j, err := os.ReadFile(text)
			if err != nil {
				t.Fatal(err)
			}
			want := Record(topic)
			if err := protojson.Unmarshal(j, want); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if !proto.Equal(got, want) {
				t.Errorf("%s no longer equals %s", bin, text)
			}
		}
	}
}

// TestEveryFieldIsDocumented requires a comment directly above (or after) each field and each enum
// value; the zero value of an enum may have none if its name is enough.
func TestEveryFieldIsDocumented(t *testing.T) {
	protos, err := filepath.Glob("*.proto")
	if err != nil || len(protos) == 0 {
		t.Fatalf("no .proto files: %v", err)
	}
	field := regexp.MustCompile(`^[\w.<>, ]+ = \d+;`)
	for _, path := range protos {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var above string
		for i, line := range strings.Split(string(b), "\n") {
			line = strings.TrimSpace(line)
			if field.MatchString(line) && !strings.HasSuffix(line, " = 0;") &&
				!strings.HasPrefix(above, "//") && !strings.Contains(line, "//") {
				t.Errorf("%s:%d: %s has no comment", path, i+1, line)
			}
			above = line
		}
	}
}

func TestOutcomeTableIsWholeAndSane(t *testing.T) {
	for n := range Outcome_name {
		o := Outcome(n)
		if o == Outcome_OUTCOME_UNSPECIFIED {
			continue
		}
		c, ok := Outcomes[o]
		if !ok {
			t.Errorf("%s has no row", o)
			continue
		}
		if c.Trains != (o == Outcome_OUTCOME_DELIVERED) {
			t.Errorf("%s: only a delivered page has a relevance to learn", o)
		}
		if c.Page && (!c.Request || !c.Final) {
			t.Errorf("%s: a page that is charged is a request that ended", o)
		}
		if c.Final && c.Retry {
			t.Errorf("%s: final and retried", o)
		}
		if failed := strings.HasPrefix(OutcomeName(o), "failed:"); failed && !c.Final {
			t.Errorf("%s: a record that a stage gave up is never tried by itself", o)
		}
	}
	names := make(map[string]Outcome)
	for o := range Outcomes {
		if other, twice := names[OutcomeName(o)]; twice {
			t.Errorf("%s and %s have one name", o, other)
		}
		names[OutcomeName(o)] = o
	}
	if got := OutcomeName(Outcome_OUTCOME_FAILED_PARSE_DOM); got != "failed:parse-dom" {
		t.Errorf("name %q", got)
	}
	if got := OutcomeName(Outcome_OUTCOME_CONNECTION_FAILED); got != "connection-failed" {
		t.Errorf("name %q", got)
	}
}

func TestIDsNameTheThing(t *testing.T) {
	// Printed once with: printf '\007request\001c\010http://x\0011' | sha256sum | cut -c1-32
	if got, want := RequestID("c", "http://x", 1).String(), "98bda15ee327cff55ab18394d688909c"; got != want {
		t.Errorf("RequestID = %s, want %s", got, want)
	}
	ids := []ID{
		RequestID("a", "b", 1), RequestID("ab", "", 1), RequestID("a", "b", 11), RequestID("a", "b1", 1),
		LeapID("a", "b", "1"), LeapID("a", "b1", ""), URLID("a"), URLID(""),
	}
	slices.SortFunc(ids, func(a, b ID) int { return strings.Compare(a.String(), b.String()) })
	if n := len(slices.Compact(ids)); n != 8 {
		t.Errorf("%d distinct ids of 8", n)
	}
	id := RequestID("c", "u", 2)
	back, err := ParseHex(id.String())
	if err != nil || back != id {
		t.Errorf("ParseHex: %v, %v", back, err)
	}
	for _, bad := range []string{"", "00", "zz", strings.Repeat("0", 34)} {
		if _, err := ParseHex(bad); err == nil {
			t.Errorf("ParseHex(%q) has no error", bad)
		}
	}
}

func TestHeadersAnswerForARequest(t *testing.T) {
	r := &FetchRequest{
		Id: RequestID("c", "http://h/x", 3).Bytes(), Crawl: "c", Shard: 2, Url: "http://h/x", Host: "h",
		Epoch: 77, Owner: 5,
	}
	got, err := RequestFromHeaders(RequestHeaders(r))
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(got, r) {
		t.Errorf("got %v, want %v", got, r)
	}
	for _, h := range []string{HeaderID, HeaderCrawl, HeaderShard, HeaderEpoch, HeaderOwner} {
		m := maps.Clone(RequestHeaders(r))
		delete(m, h)
		if _, err := RequestFromHeaders(m); err == nil || !strings.Contains(err.Error(), h) {
			t.Errorf("without header %q: error %v does not name it", h, err)
		}
	}
}

func FuzzRecords(f *testing.F) {
	for i, topic := range topics {
		b, err := os.ReadFile("testdata/v1/" + topic + ".bin")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), b)
	}
	f.Fuzz(func(t *testing.T, n uint8, b []byte) {
		m := Record(topics[int(n)%len(topics)])
		if proto.Unmarshal(b, m) != nil {
			return
		}
		again, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		back := m.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(again, back); err != nil {
			t.Fatal(err)
		}
		// NaN is not equal to itself: compare bytes.
		b2, err := proto.MarshalOptions{Deterministic: true}.Marshal(back)
		if err != nil || string(b2) != string(again) {
			t.Errorf("a second turn gives other bytes (%v)", err)
		}
	})
}

// TestRecordsWithWordsOfPages: judgements of earlier versions with the words of a page, which are no longer sent, are read.
func TestRecordsWithWordsOfPages(t *testing.T) {
	old, err := proto.Marshal(&Judgement{Raw: .5, Critic: "c/1"})
	if err != nil {
		t.Fatal(err)
	}
	old = protowire.AppendTag(old, 16, protowire.BytesType)
	old = protowire.AppendBytes(old, protowire.AppendFixed32(protowire.AppendFixed32(nil, 7), 1<<31))
	got := new(Judgement)
	if err := proto.Unmarshal(old, got); err != nil || got.GetRaw() != .5 || got.GetCritic() != "c/1" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestReadsTagPaths(t *testing.T) {
	learns := &Learning{Features: []FeatureFamily{FeatureFamily_FEATURE_FAMILY_OFFSETS, FeatureFamily_FEATURE_FAMILY_TAG_PATH}}
	for name, c := range map[string]struct {
		ctl  *CrawlControl
		want bool
	}{
		"nobody":   {&CrawlControl{Policies: []*Policy{{Ranker: Ranker_RANKER_APPRENTICE}}}, false},
		"features": {&CrawlControl{Policies: []*Policy{{Ranker: Ranker_RANKER_SOFT_FOCUS}}, Learning: learns}, true},
	} {
		if got := ReadsTagPaths(c.ctl); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestReadsTrees(t *testing.T) {
	for f := range FeatureFamily_name {
		ctl := &CrawlControl{Learning: &Learning{Features: []FeatureFamily{FeatureFamily_FEATURE_FAMILY_REL, FeatureFamily(f)}}}
		want := FeatureFamily(f) == FeatureFamily_FEATURE_FAMILY_PATH_LENGTH || FeatureFamily(f) == FeatureFamily_FEATURE_FAMILY_ANCESTOR
		if got := ReadsTrees(ctl); got != want {
			t.Errorf("%v: %v", FeatureFamily(f), got)
		}
	}
}

func TestLogOddsOf(t *testing.T) {
	number := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		of          *Judgement
		all, topics float64
	}{
		{nil, -745, -745},
		{&Judgement{Raw: .5}, 0, 0},
		{&Judgement{Raw: 1}, 745, 745},
		{&Judgement{Raw: .5, LogOdds: number(math.NaN()), TopicLogOdds: number(1)}, 0, 0},
		{&Judgement{Raw: 1, LogOdds: number(900), TopicLogOdds: number(1000)}, 900, 1000},
	} {
		if all, topics := LogOddsOf(c.of); all != c.all || topics != c.topics {
			t.Errorf("%v: %v and %v", c.of, all, topics)
		}
	}
}
