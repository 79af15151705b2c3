// Package simweb is a synthetic web that is computed, not stored: a page, its links, what is
// wrong with it and what is true of it follow from its URL and the web's seed alone, so a web
// of any size needs no memory and every URL has a ground truth. README.md says how to use it.
//
// # What it is made of
//
// A tree of topics (Branches × Leaves), each leaf and each branch with a vocabulary of its
// own, and a background vocabulary with Zipf frequencies. The vocabularies depend on
// Config.Language only, the graph on Config.Seed: two seeds of one language are two webs
// about the same topics that share no page, so what was learned on one can be tried on the
// other.
//
// Pages have inner ids. The ids are cut into sections, one a topic and one where topics mix, the
// sections into hosts of every size, hosts into directories of 16 pages (place.go). The number
// in a URL is a permutation of the id: host names, paths and numbers say nothing about topics.
//
// A page is about its directory's topic, some other topic, or none (Other: nearly half of
// all). How much of its text is topical differs from page to page, and most pages touch another
// topic. The first page of a directory lists the others in it and leads to directories below:
// pages on a topic are found behind pages about nothing. Other hubs list links to two or three
// topics, section by section. Links of a page's own stand in lists, links of one aim together;
// every page carries the navigation of its host, whose words say nothing, and a foot
// (write.go, link.go).
//
// Words that tell where a link leads stand in the DOM leaves around it (Config.Cues says at
// which offsets), besides what the page's own words tell.
//
// # Hazards
//
// Config.Hazards switches them on, each with its share of hosts, pages or links (hazard.go,
// answer.go); Truth says of every URL what a correct crawler must come to (truth.go). The server
// (serve.go) is an HTTP proxy, and answers questions about the webs (tell.go).
//
// # What it is for
//
// It proves code, never a headline: its regularities were put in by hand. The kinds of Cues
// exist so that a ranker's gain can be seen to come from them. It must not flatter either:
// package likeness measures it with the same code as frozen webs and holds it to a factor of
// two of their range.
//
// # Decisions
//
// 2026-11-21: the web was made with seed 101, and looked at with seeds 201 and 301 to 312 to see
// whether the measures hold; rankers are judged on others (from 401 on). Nothing about it was
// chosen by how a ranker does on it.
//
// 2026-11-21: robots.txt is answered on stalled hosts too, and no host's robots.txt fails: a
// crawler must then keep away for so long that no test could wait for it.
//
// 2026-11-21: of hosts with 429 and of pages with 503 the server remembers who was sent away, at
// most 4,096 of them: the one thing that does not follow from the URL, because whether Retry-After
// was heeded is a question about two requests.
package simweb
