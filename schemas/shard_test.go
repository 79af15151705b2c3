package schemas_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"forager/schemas"
)

func TestHostsSpreadOverShards(t *testing.T) {
	for _, n := range []uint32{2, 3, 4, 7, 256} {
		counts := make([]int, n)
		const hosts = 20_000
		for i := range hosts {
			counts[schemas.ShardOf(fmt.Sprintf("host%d.example", i), n)]++
		}
		mean := hosts / int(n)
		for k, c := range counts {
			if c < mean/2 || c > mean*2 {
				t.Errorf("of %d hosts shard %d of %d has %d", hosts, k, n, c)
			}
		}
	}
	if schemas.ShardOf("h", 0) != 0 || schemas.ShardOf("h", 1) != 0 {
		t.Error("a crawl of one shard has others")
	}
	// Crawls that run rely on it: another function would send links to shards that do not know them.
	for host, want := range map[string]uint32{"example.org": 3, "www.example.org": 1, "h1.example:8080": 0, "": 2} {
		if got := schemas.ShardOf(host, 4); got != want {
			t.Errorf("%q is of shard %d, was of %d", host, got, want)
		}
	}
}

func TestIDsOfRecordsAmongShards(t *testing.T) {
	page := schemas.RequestID("c", "http://h/", 1)
	moved := func(change func(*schemas.MovedLink)) schemas.ID {
		l := &schemas.MovedLink{Named: "n", By: "b", Moves: 1}
		change(l)
		return schemas.MovedID("c", "u", "v", l)
	}
	ids := []schemas.ID{
		page, schemas.LinksID(page, 1), schemas.LinksID(page, 2), schemas.LinksID(schemas.RequestID("c", "http://h/", 2), 1),
		moved(func(*schemas.MovedLink) {}), moved(func(l *schemas.MovedLink) { l.Moves = 2 }), moved(func(l *schemas.MovedLink) { l.Clock = 2 }),
		moved(func(l *schemas.MovedLink) { l.Named = "m" }), moved(func(l *schemas.MovedLink) { l.By = "d" }),
		schemas.MovedID("d", "u", "v", &schemas.MovedLink{}), schemas.MovedID("c", "w", "v", &schemas.MovedLink{}),
	}
	seen := make(map[schemas.ID]int)
	for i, id := range ids {
		if k, ok := seen[id]; ok {
			t.Errorf("records %d and %d have the same id", k, i)
		}
		seen[id] = i
	}
}

func TestWholeCrawl(t *testing.T) {
	const (
		running, paused, stopping, finished = schemas.ShardState_SHARD_STATE_RUNNING, schemas.ShardState_SHARD_STATE_PAUSED,
			schemas.ShardState_SHARD_STATE_STOPPING, schemas.ShardState_SHARD_STATE_FINISHED
	)
	ctl := &schemas.CrawlControl{Crawl: "c", Shards: 2, Budget: &schemas.Budget{Pages: 100, Requests: 50}}
	status := func(shard uint32, state schemas.ShardState, n uint64) *schemas.CrawlStatus {
		id := schemas.URLID(fmt.Sprint(n))
		return &schemas.CrawlStatus{
			Crawl: "c", Shard: shard, State: state, EndReason: "x", Epoch: n, Dispatched: n, InFlight: 1, Queued: n, Pages: n, Requests: 2 * n,
			RelevanceRaw: float64(n), RelevanceTempered: 1, Links: n, Leaps: n, Trained: n, Duplicates: n, At: int64(n), StartedAt: int64(n),
			LatencyP50Ms: uint32(n), LatencyP95Ms: uint32(n), Window: uint32(n), Shards: 2,
			Arms:     []*schemas.Arm{{Policy: "a", Chosen: 2 * n, Credited: n, Reward: float64(n) / 2, Alpha: 1.5, Beta: float64(n)}, {Policy: fmt.Sprint("of ", n), Chosen: n, Alpha: 1, Beta: 1}},
			Outcomes: map[string]uint64{"delivered": n}, Refused: map[string]uint64{"depth": n}, Rejected: map[string]uint64{"A": n}, Revision: n,
			Spans: map[string]*schemas.TopicSpan{"t": {First: map[uint32]int64{0: int64(n)}, Last: map[uint32]int64{0: int64(n)}, Count: n, Xor: id.Bytes()}},
		}
	}
	got := schemas.WholeCrawl(ctl, map[uint32]*schemas.CrawlStatus{0: status(0, finished, 3), 1: status(1, finished, 5)})
	a := schemas.URLID("3")
	want := &schemas.CrawlStatus{
		Crawl: "c", Shards: 2, State: finished, EndReason: "x", Epoch: 5, Dispatched: 8, InFlight: 2, Queued: 8, Pages: 8, Requests: 16,
		RelevanceRaw: 8, RelevanceTempered: 2, Links: 8, Leaps: 8, Trained: 8, Duplicates: 8, At: 5, StartedAt: 3,
		LatencyP50Ms: 5, LatencyP95Ms: 5, Window: 8, PagesLeft: 90, RequestsLeft: 32,
		Arms:     []*schemas.Arm{{Policy: "a", Chosen: 16, Credited: 8, Reward: 4, Alpha: 2, Beta: 7}, {Policy: "of 3", Chosen: 3, Alpha: 1, Beta: 1}},
		Outcomes: map[string]uint64{"delivered": 8}, Refused: map[string]uint64{"depth": 8}, Rejected: map[string]uint64{"A": 8}, Revision: 3,
		Spans: map[string]*schemas.TopicSpan{"t": {
			First: map[uint32]int64{0: 3}, Last: map[uint32]int64{0: 5}, Count: 8, Xor: a.Xor(schemas.URLID("5").Bytes()),
		}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("the sum (-want +got):\n%s", diff)
	}
	for _, x := range []struct{ a, b, want schemas.ShardState }{
		{finished, running, running}, {stopping, finished, stopping}, {paused, finished, paused}, {paused, running, running}, {stopping, running, running},
	} {
		for _, of := range []map[uint32]*schemas.CrawlStatus{{0: status(0, x.a, 1), 1: status(1, x.b, 1)}, {0: status(0, x.b, 1), 1: status(1, x.a, 1)}} {
			if st := schemas.WholeCrawl(ctl, of); st.GetState() != x.want || st.GetEndReason() != "" {
				t.Errorf("%v and %v are %v, %q", x.a, x.b, st.GetState(), st.GetEndReason())
			}
		}
	}
	if st := schemas.WholeCrawl(ctl, map[uint32]*schemas.CrawlStatus{0: status(0, finished, 1)}); st.GetState() != running || st.GetActivity() != "waiting for shard 1" {
		t.Errorf("with the status of one shard of two: %v", st)
	}
	one := status(0, paused, 9)
	if st := schemas.WholeCrawl(&schemas.CrawlControl{}, map[uint32]*schemas.CrawlStatus{0: one}); !cmp.Equal(one, st, protocmp.Transform()) {
		t.Errorf("a crawl of one shard: %v", st)
	}
	if schemas.WholeCrawl(ctl, nil) != nil {
		t.Error("there is a status without any report")
	}
}
