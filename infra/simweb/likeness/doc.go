// Package likeness measures properties of a web: the size of its hosts, the length of its pages,
// how they link, how often links stay on a topic, and at which DOM offsets from a link words tell
// the topic of its target. The same code (Measure) measures frozen webs and the synthetic one, so
// that infra/simweb can be compared with them. The figures are in infra/simweb/measured.json
// (Committed).
//
// Tokens, leaves and links are those of package dom, as in the crawler. A link counts if its
// target, redirects followed, is another page of the web; several links of a page to one target
// count once.
//
// # Figures
//
//   - pages a host: the mean; of the median page (half of all pages are on hosts of at most this
//     size); share of pages on the largest host
//   - bytes, tokens, leaves: of a page, quantiles; distinct tokens: their share of the
//     first hundred
//   - links: distinct targets of a page, inside the web or not
//   - out-degree, in-degree: links inside the web; top 1 %: share of all links that lead to
//     the one per cent of pages with the most
//   - same host: share of links to the page's own host
//   - same topic: share of links whose ends have the same label; lift: that share divided by the
//     one expected of random ends; within, across: the same for links inside and between hosts
//   - critic: share of pages whose label naive Bayes finds (2002 §2.1), in 5 folds
//   - information gain at offset d: see below
//
// # Information gain (2002, Fig. 8)
//
// An instance is a link (u,v), its class the label of v. T is a token drawn among those at DOM
// offset d of links (a term counts once a link; terms at fewer than one link in 4,000 count as
// one). The figure is I(T; class) / H(class), minus its value with the classes in random order, in
// percent. The paper averages the same quantity over terms, with two classes; then webs of few
// and of many topics cannot be compared, because a word of one topic among thirty is rarer than
// one among six.
package likeness
