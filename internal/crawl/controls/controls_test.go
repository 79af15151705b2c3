package controls

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

func record(t testing.TB, crawl string, revision uint64, critic string) []byte {
	t.Helper()
	b, err := proto.Marshal(&schemas.CrawlControl{Crawl: crawl, Revision: revision, Critic: critic})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNewestRevisionCounts(t *testing.T) {
	b := New()
	if b.Get("a") != nil {
		t.Error("an empty cache has a crawl")
	}
	for _, r := range []struct {
		revision uint64
		critic   string
		want     string
	}{{1, "first", "first"}, {3, "third", "third"}, {2, "late", "third"}, {3, "again", "third"}, {4, "fourth", "fourth"}} {
		if err := b.Take([]byte("a"), record(t, "a", r.revision, r.critic)); err != nil {
			t.Fatal(err)
		}
		if got := b.Get("a").GetCritic(); got != r.want {
			t.Errorf("after revision %d: critic %q, want %q", r.revision, got, r.want)
		}
	}
	if err := b.Take([]byte("0"), record(t, "0", 1, "")); err != nil || !slices.Equal(b.Crawls(), []string{"0", "a"}) {
		t.Errorf("the cache has %v (%v)", b.Crawls(), err)
	}
	if err := b.Take([]byte("a"), nil); err != nil || b.Get("a") != nil || !slices.Equal(b.Crawls(), []string{"0"}) {
		t.Errorf("after a tombstone: %v, %v", b.Get("a"), err)
	}
}

func TestTakeRefuses(t *testing.T) {
	b := New()
	if err := b.Take([]byte("a"), []byte{0xff}); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("an undecodable record: %v", err)
	}
	if err := b.Take([]byte("a"), record(t, "b", 1, "")); err == nil || b.Get("a") != nil || b.Get("b") != nil {
		t.Errorf("a record under another crawl's key: %v", err)
	}
}

func FuzzTake(f *testing.F) {
	f.Add([]byte("a"), record(f, "a", 1, "c"))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		b := New()
		if b.Take(key, value) == nil && value != nil && b.Get(string(key)) == nil {
			t.Error("taken and not known")
		}
	})
}

func TestSubscribersAreNotified(t *testing.T) {
	b := New()
	taken, cancel := b.Subscribe()
	for revision := range uint64(3) { // notified once, as no value was received
		if err := b.Take([]byte("a"), record(t, "a", revision+1, "")); err != nil {
			t.Fatal(err)
		}
	}
	<-taken
	select {
	case <-taken:
		t.Error("called twice")
	default:
	}
	cancel()
	if err := b.Take([]byte("a"), nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-taken:
		t.Error("called after the end")
	default:
	}
	if b.Deleted("a") {
		t.Error("an unknown crawl was deleted")
	}
}
