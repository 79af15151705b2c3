// Package linkfeature extracts the features of a link (u,v) from the page u (Chakrabarti, Punera & Subramanyam 2002,
// §2.2.1–2.2.3, Fig. 3): ⟨t, d⟩, the terms t around the link with their DOM offsets d, and other families of features.
//
//	page, judgement → Extract → schemas.LeafTable → Open → Table → Tokens (scoring), Features (settled leaps)
//
// The leaves below the <a> are at offset 0, the leaf before them at −1, the one after them at 1. Only terms with |d| ≤ d_max
// count (Settings.DMax; default 5, §3.4).
//
// A page has many links, and the windows of neighbouring links overlap. So the leaves of a page are sent once, as a table of
// those within d_max of some link, and the features of a link are read from the table when they are needed: Table.Tokens
// for scoring, which allocates nothing, Table.Features for a settled leap. A table is stored (AppendStored) with numbers in
// place of the terms that many tables have (Dictionary).
//
// A table larger than MaxTable is made of fewer leaves around each link (the largest d that fits), not of fewer links
// (decision 0406).
//
// # Families
//
// A crawl selects its features (Families; schemas.FeatureFamily). Which of them is the default, and why: decision 0405.
//
//	offsets      ⟨t, d⟩; read from the leaves
//	near-text    t near the link without its offset (2002, Fig. 7); read from the leaves
//	anchor       ⟨t, 0⟩, the terms of the link; read from the leaves
//	far          ⟨t, ∞⟩, terms farther away than d_max (the "far:" bucket of §2.2.3); the table holds all leaves, if they fit
//	rel          whether rel has nofollow
//	position     its number on the page, in powers of two
//	same-site    whether it stays on the host and in the directory           reads URLs
//	url-tokens   the words of the target's URL                               reads URLs
//	url-ngrams   four characters in a row of the target's URL                reads URLs
//	tag-path     pairs of elements on the tag path, as hashes (pages have no names for them)
//	path-length  ⟨t, ℓ, d⟩, ℓ = length of the path in the tree between the term's leaf and the <a> (§4)
//	ancestor     ⟨t, n, d⟩, n = depth of their lowest common ancestor (§4)
//	co-citation  ⟨R(w), d⟩, the relevance of pages w that links near this one lead to (§2.2.3, §3.8)
//
// Families that read URLs are refused by experiments where labels follow from URLs (Families.ReadsURLs). The families from
// rel to ancestor are terms of the link itself, without an offset; the table lists them for each link. Those of path-length
// and ancestor have ℓ or n and d in their names ("path:5:-2:chemistry") and so are not smoothed over d. Links of a page
// beyond MaxLinkTerms have no such terms. The terms of a link are found by its first leaf; of two links that begin at one
// leaf both have those of the first.
//
// Trees and tag paths are recorded in a page only if its crawl selects a family that reads them; retraining cannot add
// them. A page records the depths of leaves and links and, for every leaf, the depth of its lowest common ancestor with the
// leaf before it. The depth of that of any two leaves is the least depth between them, and ℓ is the sum of the depths of the
// two leaves less twice that of the ancestor.
//
// Co-citation features depend on pages fetched before, so the caller that has R(w) makes them (Cocited; package frontier).
// They contain ⌊256 R(w)⌋. The learner maps them to low or high (Judged) by its cut, as a leap is recorded before there is a
// cut.
//
// # Topics
//
// The classes of u are terms without an offset (§2.2.3, §3.8), with all prefixes of a class name, the root included: of the
// top two classes, each counting 1 ("c:/A/B"), or of all classes, each counting its posterior ("p:/A/B"). The latter count
// in parts of 1/256 (Unit): a class below 1/512 has no feature, and a prefix counts the sum of the classes below it.
package linkfeature
