// Package linkfeature makes the features of a link (u,v) from the page u: ⟨t, d⟩, the terms t around the link
// with their DOM offsets d (2002 §2.2.1–2.2.2, Fig. 3), and the names of u's classes as terms without an
// offset (§2.2.3, §3.8): of the top two, each counting 1, or of all, each counting its posterior.
//
// The leaves below the <a> are at offset 0, the leaf right before them at −1, the one right
// behind at 1. Only terms with |d| ≤ d_max count (5 by default; §3.4).
//
// A page has many links and the windows of neighbouring links overlap, so a page's leaves
// travel once, as a table of those that lie within d_max of some link (Extract), and features
// are read off it link by link when they are needed: Table.Tokens for scoring, which allocates
// nothing, Features for a leap that is settled.
//
// # Families
//
// Which features there are is a crawl's choice (Families). ⟨t, d⟩, t near the link without its offset (Fig.
// 7) and ⟨t, 0⟩, the link's own terms, are read off the leaves. The others are terms that a link has itself,
// without an offset: rel, its position, whether it stays on the host and in the directory, words and four
// characters in a row of the target's URL, and pairs of elements on its tag path. Those that read URLs say so
// (Families.ReadsURLs), and experiments refuse them where labels follow from URLs.
//
// ⟨t, ℓ, d⟩ and ⟨t, n, d⟩ are the terms near the link once more, each with the length ℓ of the path in the
// tree between its leaf and the <a>, or the depth n of their lowest common ancestor (§4). Pages tell of their
// tree the depths of leaves and links and, for every leaf, the depth of its lowest common ancestor with the
// leaf before it: that of any two leaves lies at the least depth between them, and ℓ is the sum of the two
// depths less twice the ancestor's.
//
// ⟨t, ∞⟩ are the terms farther than d_max (§2.2.3: far: bucket). For them the table holds all leaves of the
// page, if they fit: what the paper decided against, as it makes the apprentice "as bulky and slow to train
// as the baseline learner".
//
// Co-citation features ⟨R(w), d⟩ (§2.2.3, §3.8) are made of links (u,w) beside (u,v) whose R(w) is known,
// which no page says: whoever knows it makes them (Cocited; package frontier). They carry ⌊256 R(w)⌋, and the
// learner calls it low or high (Judged) by the cut that it has for targets: as a leap is recorded before
// there is a cut, and a model may be cut anew.
//
// # Decisions
//
// 2026-11-21: a table larger than 1.5 MiB is made of fewer leaves around each link (the
// largest d that fits), not of fewer links: a link in the middle of such a page is treated
// like one at its beginning.
//
// 2026-11-21: the terms of a link are found by its first leaf, which every link that waits in the frontier
// has anyway. Two links that begin at one leaf (an <a> in a table in an <a>) have those of the first.
//
// 2026-11-21: stored tables of crawls without such terms keep the form that they had.
//
// 2026-11-22: ⟨t, ℓ, d⟩ and ⟨t, n, d⟩ are terms of the link itself, with ℓ or n and d in their names
// ("path:5:-2:chemistry"): what a table lists of leaves has no place for a number that differs from link to
// link. So they are not smoothed over d, and of a page with more of them than MaxLinkTerms the last links
// have none.
//
// 2026-11-22: tag paths are the hashes that pages have of them for the ranker tag-bandit, so a model says
// which pairs speak for a link by their hashes alone. Pages have them, as their trees, where their crawl asks
// for them; retraining cannot add them later.
//
// 2026-11-22: what families are worth to the apprentice: nAUC (d_max 5, protocol C; docs/features.yaml) with the 95 %
// interval over draws. Naive Bayes has draws 0 to 9. Logistic regression has draws 0 to 4, on which naive Bayes has
// .260±.079 and .651±.138 by offsets.
//
//	                          webkb-uni, 12 tasks     webplatform, 2 tasks
//	                          bayes      logistic     bayes      logistic
//	offsets                   .262±.045  .207±.102    .655±.080  .600±.173
//	near-text                 .266±.048  .194±.094    .708±.070  .710±.113
//	anchor                    .297±.032  .280±.069    .299±.147  .261±.278
//	path-length               .321±.019  .271±.058    .550±.113  .519±.221
//	ancestor                  .245±.056  .214±.055    .645±.084  .550±.208
//	offsets and near-text     .258±.039               .720±.060
//	            rel           .262±.045               .655±.080
//	            position      .256±.040               .691±.065
//	            tag-path      .287±.036  .286±.111    .667±.091  .520±.236
//	            path-length   .279±.046  .243±.124    .641±.099  .638±.139
//	            ancestor      .239±.047  .214±.137    .668±.080  .625±.146
//	            far           .240±.035               .502±.176
//	            co-citation   .267±.052               .738±.049
//
// What gains on the one web (anchor, path-length) loses on the other, and of 22 settings beside the default none
// became it. The same of topic features beside offsets, and by naive Bayes of counts:
//
//	                          webkb-uni                                       webplatform
//	                          none       top2       all                       none       top2       all
//	bayes, draws 0 to 9       .262±.045  .268±.037  .267±.047
//	logistic, draws 0 to 9    .231±.051  .267±.043  .275±.049
//	bayes, draws 0 to 4       .260±.079  .236±.071  .251±.085                 .651±.138  .715±.091  .703±.098
//	logistic, draws 0 to 4    .207±.102  .222±.056  .244±.061                 .600±.173  .545±.212  .641±.149
//
//	                          raw        normalised binary
//	counts, draws 0 to 9      .262±.045  .272±.055  .285±.037
//	smoothed twice            .238±.044  .260±.055  .247±.054
//
// 2026-11-22: families that read URLs, on webkb-uni, whose labels people gave (12 tasks, draws 0 to 9):
//
//	                          bayes      logistic
//	offsets                   .262±.045  .231±.051
//	offsets and same-site     .236±.049  .162±.051
//	            url-tokens    .301±.044  .283±.033
//	            url-ngrams    .350±.040  .310±.043
//	same-site                 .066±.056  .018±.041
//	url-tokens                .176±.038  .151±.036
//	url-ngrams                .218±.039  .215±.033
//
// URLs say most of all families there; on webplatform labels follow from URLs, so they are refused and there is no
// figure. What one web says makes no default.
//
// 2026-11-22: terms of all classes are "p:/A/B" and not "c:/A/B", as they count in parts of 1/256 (Unit):
// whoever reads a feature knows its unit. A class below 1/512 has none; a prefix counts the sum of what the
// classes below it do.
//
// 2026-11-21: the prefixes of a class name include the root, "c:/", as in the paper.
package linkfeature
