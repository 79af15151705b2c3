// Package likeness measures what a web is like: how large its hosts are, how long its pages,
// how they link, how far links stay on a topic, and where around a link the words stand that
// tell where it leads. The same code measures frozen webs and the synthetic one, so that
// infra/simweb can be held against them; its figures are in infra/simweb/measured.json.
//
// Pages are what package dom reads of them: a token, a leaf and a link are the same things
// here as in the crawler. A link counts when its target, redirects followed, is a page of the
// web other than its own; two links of a page to one target are one.
//
// # Figures
//
//   - pages a host: the mean; of the median page (half of all pages live on hosts that are at
//     most so large); share of pages on the largest host
//   - bytes, tokens, leaves: of a page, quantiles; distinct tokens: their share of the
//     first hundred
//   - links: distinct targets that a page names, inside the web or not
//   - out-degree, in-degree: links inside the web; top 1 %: share of all links that lead to
//     the hundredth of pages that has most
//   - same host: share of links that stay on their page's host
//   - same topic: share of links whose ends have the same label; lift: that share by the one
//     that random ends would give; within, across: links inside a host and between hosts apart
//   - critic: share of pages whose label naive Bayes finds (2002 §2.1), in 5 folds
//   - information gain at offset d: see below
//
// # Information gain (2002, Fig. 8)
//
// An instance is a link (u,v), its class the label of v. T is a token drawn among those at DOM
// offset d of links (a term counts once a link; terms at fewer than one link in 4,000 count as
// one). The figure is I(T; class) / H(class) less what it is with the classes in random order, in
// percent: what a word there tells of where the link leads. The paper averages the same quantity
// over terms, with two classes; then webs of few and of many topics cannot be compared, because
// a word of one topic among thirty is rarer than one among six.
package likeness
