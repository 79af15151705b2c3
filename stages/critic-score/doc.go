// Command critic-score says how relevant each page is to the topics of its crawl.
//
// # Card
//
// Purpose: R(u), raw and tempered, by the crawl's critic (package critic).
//
// In: page.parsed. Followed to their end first, and on: crawl.control (a crawl's critic and
// focus topics), model.published (where critics are). Out: page.judged, one record for every
// record of page.parsed; the parsed page rides on in it as the bytes that came in.
//
// Touches: the object store, read only, for critics. State: none; a few critics in memory,
// fetched again when needed.
//
// A crawl without a control record and a critic that is not there yet are waited for. So is a
// critic whose object is not what was announced, or that this program cannot read: the object
// can be put right or the program be replaced, and no page is lost meanwhile. It is logged and
// shown as waiting, never judged by another critic.
//
// A crawl that names no critic only fetches: its pages get an empty judgement, R(u) = 0.
//
// Refuses, as failed:critic-score with a dead letter: records that cannot be decoded, delivered
// pages without a page or with one that contradicts itself, focus topics that the critic does
// not have. Outcomes other than delivered pass through without a judgement.
//
// Running twice is safe: the same page, critic and focus give the same record, under the same
// id (the request's).
//
// # Decisions
//
// 2026-11-21: model.published is compacted by the critic's name, so an older version of a
// critic may no longer be announced while a crawl still names it. Its object is then looked for
// under models/critic/ + version, and checked by the 12 digits of its digest in the version.
package main
