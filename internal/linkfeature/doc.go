// Package linkfeature makes the features of a link (u,v) from the page u: ⟨t, d⟩, the terms t
// around the link with their DOM offsets d (2002 §2.2.1–2.2.2, Fig. 3), and the names of u's
// classes as terms without an offset (§2.2.3, §3.8).
//
// The leaves below the <a> are at offset 0, the leaf right before them at −1, the one right
// behind at 1. Only terms with |d| ≤ d_max count (5 by default; §3.4).
//
// A page has many links and the windows of neighbouring links overlap, so a page's leaves
// travel once, as a table of those that lie within d_max of some link (Extract), and features
// are read off it link by link when they are needed: Table.Tokens for scoring, which allocates
// nothing, Features for a leap that is settled.
//
// These features read no URL.
//
// # Decisions
//
// 2026-11-21: a table larger than 1.5 MiB is made of fewer leaves around each link (the
// largest d that fits), not of fewer links: a link in the middle of such a page is treated
// like one at its beginning.
//
// 2026-11-21: the prefixes of a class name include the root, "c:/", as in the paper.
package linkfeature
