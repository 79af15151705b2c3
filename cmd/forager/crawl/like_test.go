package crawl

import (
	"fmt"
	"testing"
)

func TestAroundTakesTurns(t *testing.T) {
	page := func(host string, n int) *likedPage {
		p := new(likedPage)
		for i := range n {
			p.Links = append(p.Links, fmt.Sprintf("http://%s/%d", host, i))
		}
		return p
	}
	known, hosts := map[string]bool{"http://a.test/3": true}, make(map[string]int)
	urls := around([]*likedPage{page("a.test", 10), page("b.test", 2), page("c.test", 100)}, known, hosts, 12)
	if len(urls) != 12 || hosts["a.test"] != 5 || hosts["b.test"] != 2 || hosts["c.test"] != 5 {
		t.Errorf("%d links, by host %v", len(urls), hosts)
	}
	more := around([]*likedPage{page("a.test", 10), page("c.test", 100)}, known, hosts, 100)
	if hosts["a.test"] != 9 || hosts["c.test"] != hostShare || len(more) != 4+hostShare-5 {
		t.Errorf("%d more links, by host %v", len(more), hosts)
	}
	for _, u := range more {
		for _, o := range urls {
			if o == u {
				t.Errorf("%s twice", u)
			}
		}
	}
}
