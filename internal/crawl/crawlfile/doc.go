// Package crawlfile reads the YAML file in which a user describes a crawl (topic, seeds,
// budget, scope, politeness, ranker) and turns it into the record that every stage follows,
// schemas.CrawlControl. It also names the rankers that can be chosen with one word.
//
// # Decisions
//
// 2026-11-21: the mixture is the default ranker. On draws 0–9 of the two frozen webs at hand, to which
// its arms were fitted, its nAUC is .46 and .87 (mean .67), where soft focus has .16 and .83, hard-defer .46
// and .68, the apprentice .26 and .66; no ranker alone is good on both. Its arms are a deep order (anchor
// soft focus), one that learns (the gated apprentice) and three broad ones: discovery within a tenth of R(u),
// and behind a gate on the best topic, or on R(u). What was tried and brought nothing: arms that are
// drawn by what they brought at the score of their head, quicker forgetting (.97, .95), the texts of links
// alone as an arm, and those that stand near.
//
// 2026-11-22: no ranker learns one score from all that is known of a link, as a prototype outside the tree
// gained too little over the mixture: a Bayesian logistic regression, fitted anew as the apprentice is, on R
// of the pages that link to v and of the path to them, R of the link's text, how relevant fetched pages
// proved that are linked from the same page, there with the same tag path, and there near by, in-links,
// position, number of links, and age; its outcome was R of the page, raised by what the page led to; the
// score an upper bound. As one order it had an nAUC of about .37 on webkb-uni and .89 on webplatform, in
// quarters, first in, first out within one, .45 and .83. These two orders and hard-defer as arms had .500 and
// .882 on draws 10–15, where the mixture has .481 and .876: .013 more in the mean, and .020 on the tasks of
// webkb-uni, of which 8 of 12 gain (sign-flip p .44). 55 variants were tried on draws 0–9, on two draws at
// most of webplatform, by a simulation that follows redirects at once; two of them on draws 10–15, of which
// the one that was best before was worse there (.490 and .883). Among the 55: Thompson sampling of the
// weights, classes, hosts, directories, texts and words as further features, depth and discovery as fixed
// penalties, weights learnt beforehand from the labels of other sites (.16 and .86 as one order, .47 and .71
// in quarters), and, in the mixture, no forgetting, quicker forgetting, credit to the arm that chose the page
// before, and less credit where that was relevant already: .005 at most. The reason is that the score learns
// from R. On each task of webkb-uni more than six in ten of the pages with a calibrated R of ½ and more are
// no targets (182 of 238 in course/washington), and they link to one another: what learns from R follows them
// (about −.1 there as one order, where hard-defer has .65), and orders in broad tiers do not.
package crawlfile
