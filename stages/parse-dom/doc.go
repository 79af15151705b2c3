// Command parse-dom parses the pages that fetch stored into words, leaves and links.
//
// # Card
//
// Purpose: the repaired HTML5 tree of each page, with numbered leaves and canonical links (package dom).
//
// In: page.fetched. Followed, first to its end: crawl.control (a crawl's leaf mode). Out: page.parsed, one record for every record of
// page.fetched.
//
// Uses: the object store, read only, by range, in blocks of 1 MiB, of which cache_bytes are kept; the pages of a segment are announced
// together. State: none.
//
// A crawl without a control record is waited for, and so is an object store that is unavailable or denies access.
//
// Rejected, as failed:parse-dom with a dead letter: records that cannot be decoded or whose headers name another request, delivered
// pages whose bytes are missing, damaged, or do not have the digest that page.fetched names. No HTML is rejected: what cannot be parsed as
// a tree is read from its tags (Page.tokenizer_only), what is too much is cut (Page.cut, also where fetch cut the body). Outcomes other
// than delivered pass through without a page.
//
// Repetition is safe: the same bytes give the same record, under the same id (the request's).
package main
