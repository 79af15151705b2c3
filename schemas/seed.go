package schemas

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// SeedPage returns the record of link.found that begins a crawl: a virtual page whose links are the
// seeds, canonical URLs. Its id is a function of the list, so that the same list counts once.
func SeedPage(crawl string, seeds []string) *LinkFound {
	sum := sha256.Sum256([]byte(strings.Join(seeds, "\n")))
	id := RequestID(crawl, "seeds:"+hex.EncodeToString(sum[:]), 0)
	r := &LinkFound{Id: id.Bytes(), Crawl: crawl, Outcome: Outcome_OUTCOME_SEEDS}
	for i, u := range seeds {
		r.Links = append(r.Links, &Link{Url: u, Position: uint32(i)})
	}
	return r
}
