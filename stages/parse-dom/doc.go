// Command parse-dom reads the pages that fetch stored: words, leaves and links.
//
// # Card
//
// Purpose: the repaired HTML5 tree of each page, its leaves numbered, its links made canonical
// (package dom).
//
// In: page.fetched. Followed to its end first, and on: crawl.control (a crawl's leaf mode). Out:
// page.parsed, one record for every record of page.fetched.
//
// Touches: the object store, read only, by range: blocks of 1 MiB, of which cache_bytes are kept;
// the pages of a segment are announced together. State: none.
//
// A crawl without a control record is waited for, and so is an object store that is away or
// denies access.
//
// Refuses, as failed:parse-dom with a dead letter: records that cannot be decoded or whose headers
// name another request, delivered pages whose bytes are missing, damaged, or not those of the
// digest that page.fetched names. No HTML is refused: what cannot be read as a tree is read from
// its tags (Page.tokenizer_only), what is too much is cut (Page.cut, also where fetch cut the
// body). Outcomes other than delivered pass through without a page.
//
// Running twice is safe: the same bytes give the same record, under the same id (the request's).
package main
