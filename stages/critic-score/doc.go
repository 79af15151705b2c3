// Command critic-score says how relevant each page is to the topics of its crawl.
//
// # Card
//
// Purpose: R(u), raw, tempered and calibrated, by the crawl's critic (package judges: a trained
// model, rules, or an HTTP predicate), and by its shadows, which are recorded and not used.
//
// In: page.parsed. Followed to their end first, and on: crawl.control (a crawl's critic, shadows
// and marking of topics), model.published (where critics are). Out: page.judged, one record for
// every record of page.parsed; the parsed page rides on in it as the bytes that came in.
//
// Touches: the object store, read only, for critics, guides and sources of backlinks; the services of predicates; the folders
// critics, guides and backlinks below the data folder, where they lie under their digests and all processes of a machine map
// them. State: none; what is missing there, or damaged, is fetched again.
//
// Where a policy of the crawl reads them, the text of each link is judged as well
// (Judgement.anchors), by the critic that judged the page; a service is not asked for that.
//
// Guides that policies of the crawl rank by (package guide) are asked for every page with links that
// may be followed, with what they remember of the path to it (FetchRequest.path_state); what they say goes into the
// judgement. One that is not there yet, or damaged, is waited for as critics are. One that fails on a
// page, or says what is no finite number, is not: the guidance says why, it is counted
// (forager_critic_score_guide_failures_total), and the links of the page are fetched last.
//
// Where a guide calls a page a target (Guidance.layer 1), and its request allows a query (Path.backlinks), the crawl's
// source of backlinks (package backlink) is asked for the page's parents, also where the page's own links may not be
// followed. A source that is not there is waited for; a service that does not answer as it should is not: the judgement
// says why, and it is counted (forager_critic_score_backlink_failures_total). Services among the guides are asked side by side.
//
// Where a crawl makes its guide of its own pages (CrawlControl.renewal) the words of each go into its judgement, and a page is
// judged under no older control record than it was asked for: it waits for that (FetchRequest.revision).
//
// A new revision of the control record counts from the next page on: another critic is swapped in,
// topics are marked anew. A judgement says which revision it followed (marking).
//
// A crawl whose control record, critic, guide or source of backlinks is missing is parked, and so is one whose object is not what
// was announced or cannot be read by this program: its pages wait in page.parsed, the other crawls go on, and it is resumed by
// itself when the object is back. The log, the metric forager_stage_parked_records, forager report and forager doctor name crawl
// and object. No page is judged by another critic. A page that has waited for half of the retention of page.parsed fails
// (docs/decisions/0032). Objects are fetched beside the pages.
//
// A shadow is waited for by nobody: where it is not there, does not know the focus topics, or is a
// service that fails, the judgement says so in its place. A shadow that is a service holds up pages
// for twice its time-out at most.
//
// A predicate that does not answer as it should (package predicate) is answered for by its
// fallback, if it has one: Judgement.critic is the fallback's version then and degraded the reason,
// which is also counted (forager_critic_score_degraded_pages_total). Without a fallback the page
// waits for the settings' patience and then fails, as failed:critic-score; forager dead replay
// tries it again. Pages that wait for a service take no processor from others; in their partition
// those behind them wait, as its order is kept.
//
// A crawl that names no critic only fetches: its pages get an empty judgement, R(u) = 0.
//
// Refuses, as failed:critic-score with a dead letter: records that cannot be decoded, delivered
// pages without a page or with one that contradicts itself, focus topics that the critic does
// not have, a state of the path that is none. Outcomes other than delivered pass through without a judgement.
//
// Running twice is safe: the same page, critic and marking give the same record, under the same
// id (the request's). Where the control record changed in between, or a service answers otherwise,
// the records differ, and the first one counts, as everywhere.
//
// # Decisions
//
// 2026-11-21: model.published is compacted by the critic's name, so an older version of a
// critic may no longer be announced while a crawl still names it. Its object is then looked for
// under models/critic/ + version, and checked by the 12 digits of its digest in the version.
//
// 2026-11-21: pages that were judged keep their judgement when topics are marked anew, and the links
// that were found on them the scores made of it: a judgement is a fact about a page and a revision,
// and prioritize's ledger holds only such. New pages bring new links, and raise known ones. Whoever
// wants all judged by one marking starts a crawl from the same seeds, or retrains. Training labels
// are R(v) as judged: an apprentice of a crawl that was marked anew unlearns the old marking as
// leaps come in.
//
// 2026-11-21: a record is tried once and not three times: nothing here fails by chance that is not
// waited for, and a predicate without a fallback has been asked for long enough.
package main
