package controls

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/schemas"
)

// TestCheckNamesTheField changes each field of a record: those that decision 0010 lists are refused by name, all others
// are accepted.
func TestCheckNamesTheField(t *testing.T) {
	old := &schemas.CrawlControl{
		Crawl: "c", Revision: 1, Scope: &schemas.Scope{Hosts: []string{"h"}}, MaxAttempts: 2, Shards: 1,
		Learning: &schemas.Learning{DMax: 5}, Budget: &schemas.Budget{Pages: 10},
	}
	for field, change := range map[string]func(*schemas.CrawlControl){
		"scope.hosts":                   func(c *schemas.CrawlControl) { c.Scope.Hosts = append(c.Scope.Hosts, "i") },
		"scope.max_depth":               func(c *schemas.CrawlControl) { c.Scope.MaxDepth = 3 },
		"scope.url_list":                func(c *schemas.CrawlControl) { c.Scope.UrlList = "lists/x" },
		"max_attempts":                  func(c *schemas.CrawlControl) { c.MaxAttempts = 3 },
		"shards":                        func(c *schemas.CrawlControl) { c.Shards = 4 },
		"renewal":                       func(c *schemas.CrawlControl) { c.Renewal = &schemas.Renewal{} },
		"learning.d_max":                func(c *schemas.CrawlControl) { c.Learning.DMax = 4 },
		"learning.features":             func(c *schemas.CrawlControl) { c.Learning.Features = []schemas.FeatureFamily{1, 2} },
		"learning.pairs":                func(c *schemas.CrawlControl) { c.Learning.Pairs = 1 },
		"learning.max_pairs_per_target": func(c *schemas.CrawlControl) { c.Learning.MaxPairsPerTarget = 1 },
		"learning.active":               func(c *schemas.CrawlControl) { c.Learning.Active = .5 },
	} {
		c := proto.CloneOf(old)
		c.Revision = 2
		change(c)
		if err := Check(old, c); err == nil || !strings.Contains(err.Error(), "revision 2 refused: "+field+" never changes") {
			t.Errorf("%s: %v", field, err)
		}
		c.Restored = &schemas.Restored{Revision: 1} // of a copy
		if Check(old, c) == nil {
			t.Errorf("%s: a copy of a record that restores is accepted", field)
		}
		c.Restored.Revision = 2
		if err := Check(old, c); err != nil {
			t.Errorf("%s restored: %v", field, err)
		}
	}
	for name, change := range map[string]func(*schemas.CrawlControl){
		"budget": func(c *schemas.CrawlControl) { c.Budget.Pages++ }, "state": func(c *schemas.CrawlControl) { c.State++ },
		"learning.pinned": func(c *schemas.CrawlControl) { c.Learning.Pinned = "x" }, "one shard": func(c *schemas.CrawlControl) { c.Shards = 0 },
		"renewal.pages": func(c *schemas.CrawlControl) { c.Window = 3 }, "critic": func(c *schemas.CrawlControl) { c.Critic = "x" },
	} {
		c := proto.CloneOf(old)
		change(c)
		if err := Check(old, c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// naive is a reader written without regard to cost: it keeps all that it has read.
type naive []*schemas.CrawlControl

func (all naive) inForce() (ctl *schemas.CrawlControl) {
	for _, c := range all {
		restores := c.Restored != nil && c.Restored.Revision == c.Revision
		if ctl == nil || c.Revision > ctl.Revision && (restores || c.MaxAttempts == ctl.MaxAttempts && max(c.Shards, 1) == max(ctl.Shards, 1)) {
			ctl = c
		}
	}
	return ctl
}

// reader is a process that follows the topic.
type reader struct {
	cache *Cache
	read  naive
	next  int
}

// topic is crawl.control with one crawl; compacted records are nil.
type topic []*schemas.CrawlControl

func (r *reader) follow(log topic, n int) {
	for ; r.next < len(log) && n > 0; n-- {
		if c := log[r.next]; c != nil {
			_ = r.cache.Add(c) // refused records are judged by what is in force
			r.read = append(r.read, c)
		}
		r.next++
	}
}

// TestReadersAgree lets operators, people who write records by hand, compaction and restarts act in any order. All
// readers agree in the end, what never changes is as it was at first, and the topic's last record is in force.
func TestReadersAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		first := &schemas.CrawlControl{Crawl: "c", Revision: 1, MaxAttempts: 2, Budget: &schemas.Budget{Pages: 1}}
		log := topic{first}
		readers := []*reader{{cache: New()}, {cache: New()}} // the first is prioritize
		readers[0].follow(log, 1)
		accepted := first // what prioritize has stored
		restore := func() bool {
			p := readers[0]
			again := p.cache.Restoration("c")
			if again != nil {
				log = append(log, again)
			}
			return again != nil
		}
		compacted := false
		rt.Repeat(map[string]func(*rapid.T){
			"operator": func(rt *rapid.T) {
				r := rapid.SampledFrom(readers).Draw(rt, "reader")
				if r.cache.Get("c") == nil {
					return
				}
				c := proto.CloneOf(r.cache.Get("c"))
				c.Revision, c.Budget.Pages = r.cache.Next("c"), rapid.Uint64Range(1, 5).Draw(rt, "pages")
				if fixedOf := [2]uint32{c.MaxAttempts, c.Shards}; fixedOf == [2]uint32{2, 0} {
					log = append(log, c)
				}
			},
			"by hand": func(rt *rapid.T) {
				// Who writes a lower revision than that of a record which compaction removes before prioritize reads it has hidden
				// that record from prioritize for good.
				from := log[len(log)-1].Revision
				if readers[0].next == len(log) && readers[0].cache.Restoration("c") == nil {
					from = 0
				}
				log = append(log, &schemas.CrawlControl{
					Crawl: "c", Revision: rapid.Uint64Range(from, from+5).Draw(rt, "revision"), MaxAttempts: rapid.Uint32Range(2, 3).Draw(rt, "attempts"),
					Shards: rapid.Uint32Range(0, 2).Draw(rt, "shards"), Budget: &schemas.Budget{Pages: rapid.Uint64Range(1, 5).Draw(rt, "pages")},
				})
			},
			"compaction": func(*rapid.T) {
				if readers[0].cache.Restoration("c") != nil {
					return // prioritize is about to write, and compaction takes longer
				}
				for _, c := range log[readers[0].next:] {
					if c != nil && Check(first, c) == nil {
						return // prioritize would never learn of a change that others have accepted
					}
				}
				for _, r := range readers {
					for _, c := range log[r.next:] {
						if r.next > 0 && c.GetRestored() != nil {
							return // a reader that follows reads it before compaction does
						}
					}
				}
				for i := range len(log) - 1 {
					log[i], compacted = nil, true
				}
			},
			"start": func(*rapid.T) { readers = append(readers, &reader{cache: New()}) },
			"follow": func(rt *rapid.T) {
				i := rapid.IntRange(0, len(readers)-1).Draw(rt, "reader")
				readers[i].follow(log, rapid.IntRange(1, 4).Draw(rt, "records"))
				if i == 0 {
					accepted = readers[0].cache.Get("c")
				}
			},
			"restore": func(*rapid.T) { restore() },
			"prioritize": func(*rapid.T) { // it starts again, with its state
				readers[0] = &reader{cache: New()}
				readers[0].follow(log, len(log))
				readers[0].cache.Precede(accepted)
				accepted = readers[0].cache.Get("c")
			},
			"": func(rt *rapid.T) {
				if got := readers[0].cache.Get("c"); got.MaxAttempts != 2 || max(got.Shards, 1) != 1 {
					rt.Fatalf("prioritize runs the crawl by %v", got)
				}
				for _, r := range readers[1:] {
					if got, want := r.cache.Get("c"), r.read.inForce(); got != want {
						rt.Fatalf("in force %v, want %v of %v", got, want, r.read)
					}
				}
			},
		})
		for range 3 {
			for _, r := range readers {
				r.follow(log, len(log))
			}
			if !restore() {
				break
			}
		}
		if readers[0].cache.Restoration("c") != nil {
			rt.Fatal("prioritize does not come to an end")
		}
		want := readers[0].cache.Get("c")
		if !compacted && want != naive(log).inForce() && !proto.Equal(want, naive(log).inForce()) {
			rt.Errorf("prioritize has %v, want %v", want, naive(log).inForce())
		}
		for i, r := range append(readers, &reader{cache: New(), next: len(log) - 1}) {
			r.follow(log, len(log))
			if got := r.cache.Get("c"); !proto.Equal(got, want) {
				rt.Errorf("reader %d has %v, want %v", i, got, want)
			}
		}
	})
}
