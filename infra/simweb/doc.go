// Package simweb is a synthetic web for tests of crawlers. It is computed, not stored: a page, its
// links, its hazards and its ground truth are functions of its URL and the seed of the web, so a
// web of any size needs no memory. README.md describes how to use it.
//
// New makes a Web of a Config. Web.Page returns a page, Web.Truth its ground truth, Web.Examples
// pages of a topic. Server (serve.go) serves webs as an HTTP proxy and answers queries about them
// (queries.go).
//
// # Structure
//
// The topics are a tree of Branches × Leaves. Each leaf and each branch has a vocabulary, and a
// background vocabulary has Zipf frequencies. The vocabularies depend on Config.Language only, the
// graph on Config.Seed: two seeds of one language are two webs about the same topics without a
// common page, so that a model trained on one can be tested on the other.
//
// Pages have inner ids. The ids are divided into sections, one for each topic and one of mixed
// topics; sections into hosts of every size; hosts into directories of 16 pages (place.go). The
// number in a URL is a permutation of the id: host names, paths and numbers are independent of
// topics, unless Config.TopicURLs is set.
//
// A page is about its directory's topic, another topic, or none (Other: nearly half of all). The
// share of topical words varies from page to page, and most pages have some words of a second
// topic. The first page of a directory lists the others and links to directories below, so that
// pages on a topic are reached through pages about none. Other hubs list links to two or three
// topics, section by section. Other links of a page are grouped in lists by topic. Every page has
// the navigation of its host, whose words are not topical, and a footer (write.go, link.go).
//
// Words about the topic of a link's target are in the DOM leaves around it; Config.Cues
// selects the offsets.
//
// # Use
//
// simweb tests code; it is no evidence about real webs, as its regularities are chosen. The kinds
// of Cues show whether a ranker's gain comes from the words around links. README.md describes
// hazards, truths and the figures of likeness.
package simweb
