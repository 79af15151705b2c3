// Command critic-score judges how relevant each page is to the topics of its crawl.
//
// # Card
//
// Purpose: R(u), raw, tempered and calibrated, by the crawl's critic (package criticfile: a trained model, rules, or an HTTP predicate), and by its
// shadows, which are recorded and not used. Package judging makes the judgement; the stage fetches models, waits for them and counts failures.
//
// In: page.parsed. Followed, first to their ends: crawl.control (a crawl's critic, shadows and marking of topics), model.published (the objects
// of critics). Out: page.judged, one record for every record of page.parsed, which embeds the parsed page as the bytes that were read.
//
// Uses: the object store, read only, for critics, guides and sources of backlinks; the services of predicates; the folders critics, guides and
// backlinks below the data folder, where models are stored under their digests and mapped by all processes of a machine. State: none; a model that
// is missing there, or damaged, is fetched again, in the background.
//
// Links: where a policy of the crawl reads them, the words of each link and of its URL are judged as well (Judgement.anchors), by the critic that judged the
// page; a service is not used for that.
//
// Guides (package guide) that policies of the crawl rank by score the links of every page that may be followed, with their state of the path to the
// page (FetchRequest.path_state). A guide that is not there yet, or damaged, is waited for as critics are. One that fails on a page, or returns
// no finite number, is not: the guidance has the reason, it is counted (forager_critic_score_guide_failures_total), and the links of the page are
// fetched last. Services among the guides are called in parallel.
//
// Backlinks: where a guide takes a page for a target (Guidance.layer 1), and its request allows a query (Path.backlinks), the crawl's source of
// backlinks (package backlink) is queried for the page's parents, also where the page's own links may not be followed. A missing source is waited
// for; a failing service is not: the judgement has the reason, and it is counted (forager_critic_score_backlink_failures_total).
//
// Where a crawl trains its guide on its own pages (CrawlControl.renewal) the words of each page are in its judgement, and a page is judged under no
// older control record than it was requested under (FetchRequest.revision, docs/decisions/0030).
//
// A new revision of the control record applies from the next page on: critics are exchanged, topics are marked again. A judgement has the
// revision that it followed (marking).
//
// A crawl whose control record, critic, guide or source of backlinks is missing is parked, and so is one whose object is not the announced one or
// cannot be read by this program: its pages wait in page.parsed, the other crawls go on, and it resumes when the object is available. The log, the
// metric forager_stage_parked_records, forager report and forager doctor name crawl and object. No page is judged by another critic. A page that has
// waited for half of the retention of page.parsed fails (docs/decisions/0032).
//
// A shadow is not waited for: where it is missing, does not know the focus topics, or is a service that fails, the judgement has that
// instead. A shadow that is a service delays pages by twice its timeout at most.
//
// A predicate that fails (package httpmodel) is replaced by its fallback, if it has one: Judgement.critic is then the version of the fallback
// and degraded the reason, which is also counted (forager_critic_score_degraded_pages_total). Without a fallback the page waits for the patience
// configured and then fails, as failed:critic-score; forager dead replay tries it again. A page that waits for a service uses no worker; later
// pages of its partition wait, as the order is kept.
//
// A crawl that names no critic only fetches: its pages get an empty judgement, R(u) = 0.
//
// Rejected, as failed:critic-score with a dead letter, after one try: records that cannot be decoded, delivered pages without a page or with an
// inconsistent one, focus topics that the critic does not have, an invalid path state. Outcomes other than delivered pass through.
//
// Repetition is safe: the same page, critic and marking give the same record, under the same id (the request's). Where the control record changed
// in between, or a service responds differently, the records differ, and the first one counts, as everywhere (docs/decisions/0211).
package main
