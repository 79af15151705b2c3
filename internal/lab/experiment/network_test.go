package experiment

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"forager/internal/lab/experiment/worldtest"
	"forager/internal/web/weburl"
)

// Over a network a crawl comes out the same every time, fetches as many pages as one by one,
// faster, and keeps pauses.
func TestOverANetwork(t *testing.T) {
	g := env(t, worldtest.Random(3, 60))
	try := func(n *Network) *Crawl {
		t.Helper()
		run, err := g.Run(t.Context(), Baseline, 0, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		run.Network = n
		c, err := run.Crawl(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	alone := try(nil)
	n := &Network{Window: 10, HostWindow: 2, Loop: 10 * time.Millisecond, Work: time.Millisecond}
	quick := try(n)
	if diff := cmp.Diff(quick.Steps, try(n).Steps); diff != "" {
		t.Errorf("again it is another crawl:\n%s", diff)
	}
	if len(quick.Steps) != len(alone.Steps) || quick.Took < time.Duration(len(alone.Steps))*n.Work || quick.Took >= time.Duration(len(alone.Steps))*n.Loop {
		t.Errorf("%d pages in %v, one by one %d", len(quick.Steps), quick.Took, len(alone.Steps))
	}
	n.Pause = time.Second
	slow := try(n)
	pages, most := make(map[string]int), 0
	for _, s := range slow.Steps {
		pages[weburl.Host(s.URL)]++
		most = max(most, pages[weburl.Host(s.URL)])
	}
	if len(slow.Steps) != len(alone.Steps) || slow.Took < time.Duration(most-1)*n.Pause {
		t.Errorf("%d pages in %v, %d of them on one host with a pause of a second", len(slow.Steps), slow.Took, most)
	}
}
