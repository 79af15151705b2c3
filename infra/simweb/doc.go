// Package simweb is a synthetic web that is computed, not stored: a page, its links and its
// true topic follow from its URL and the web's seed alone, so a web of any size needs no
// memory and every URL has a ground truth.
//
// # What it is made of
//
// A tree of topics (Branches × Leaves), each leaf and each branch with a vocabulary of its
// own, and a background vocabulary with Zipf frequencies. The vocabularies depend on
// Config.Language only, the graph on Config.Seed: two seeds of one language are two webs
// about the same topics that share no page, so what was learned on one can be tried on the
// other.
//
// Content pages mix words of their topic, its branch and the background. Their links lead to
// the same topic with probability Locality, to a sibling topic with half of what is left, else
// anywhere; links of the navigation lead anywhere on the same host. Hubs (HubShare of the
// pages) are written in background words and words of no topic, so that a classifier finds
// them off topic; their lists of links lead to two or three topics each, section by section.
// Words that tell where a link leads stand in the DOM leaves around it (Config.Cues says at
// which offsets); anchors themselves are mostly uninformative ("here", "more").
// Host names, paths and page numbers say nothing about topics.
//
// In-degrees are skewed, host sizes heavy-tailed. A small share of links is dead (404) or an
// alias that redirects (301).
//
// # What it is for
//
// It proves code, never a headline: its regularities were put in by hand. The three kinds of
// Cues (peaked, uniform, none) exist so that a ranker's gain can be seen to come from them.
package simweb
