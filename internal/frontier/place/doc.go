// Package place computes the place of an entry under each policy of a crawl, from all links to it, the apprentice's model,
// guides and co-citation: its tier and its score (policy.Place). It also moves entries in the queues when that changes, and
// places them under shadows, policies that choose nothing (docs/decisions/0107, 0108, 0109).
package place
