// Package frontier is the state machine of one shard of a crawl: which URLs are known, which
// one is fetched next, what became of every request, and the ledger of leaps (every link
// (u,v), predicted when found, settled when v has its outcome). The stage prioritize runs it
// over Pebble and the in-process experiment over NewMemory; nothing differs but the Store.
//
// A Shard is told what happened (Apply, Recover, SetModel, Configure) and asked what to do
// (Dispatch, Rescore, Wake). Time is an argument; the order of URLs never depends on it, only
// when a host or a failed try may be asked again does. Everything that must survive is in the
// Store when a call returns, so whoever commits the Store between calls can open the Shard
// again and go on as if nothing had happened.
//
// # Where what stands
//
//	shard.go                              Shard, Open
//	configure.go limits.go                control record, policies, budgets; rebuild
//	apply.go retry.go redirect.go         what follows from a verdict
//	replay.go                             another attempt at what a stage could not handle
//	discover.go                           new URLs, aliases
//	seen.go ordinals.go filter.go         the seen-set
//	ledger.go                             settled leaps, boundaries
//	place.go tables.go                    scores, by internal/rank/rank
//	cocitation.go                         what is known of the links beside a link
//	guidance.go                           what guides say of a page's links, and the path to a page
//	backlink.go expand.go                 queries of backlinks; pages that are expanded wholly
//	rescore.go sweep.go stretch.go        models and generations
//	rerank.go                             other policies
//	raise.go                              what hubs link to
//	shadow.go                             policies that choose nothing
//	renew.go                              guides that are made of the crawl's own pages
//	learner.go                            rankers that learn from verdicts
//	ahead.go prepare.go                   what is read and scored beside others
//	dispatch.go mixture.go                choice of requests and of the policy that leads
//	flight.go window.go                   requests in flight
//	recover.go                            dispatches found in the log
//	held.go                               slots that are left empty
//	waiting.go                            failed tries that wait
//	outage.go unreachable.go              networks and hosts that do not answer
//	peers.go lease.go                     other shards: links for them and from them, leases
//	host.go queue.go front.go heap.go     hosts, their queues and heads
//	hostcache.go hostindex.go rangehead.go  which hosts are in memory, and how the others are found
//	entry.go link.go page.go              what is known of URLs, links and pages
//	bounds.go                             what may be in memory
//	key.go codec.go counters.go names.go  encodings
//	store.go memory.go lru.go             storage
//	status.go                             how the shard stands
//	drop.go                               the end of a crawl that was deleted
//
// # Order
//
// Under a policy: tier ↑, failed tries ↑, score ↓, first discovery ↑ (rank.Place, order.less).
// Every policy orders the same entries, with one queue key each; a dispatch takes the entry
// out of all. The first policy leads: its head is dispatched. Where the crawl has a mixture
// (rank.Mixture) each dispatch draws the policy that leads; what is drawn is a function of the
// crawl's random seed, the ordinal of the dispatch and the arms, whose counts follow from the
// verdicts and from what the log says chose their requests. So a replay finds the same arms. With several
// requests in flight an arm is credited late, which Thompson sampling bears: it goes on drawing.
//
// Each host has a queue a policy. The keys of a queue sort as the order does. In memory are the hosts used last, with
// the first keys of their queues (front.go), and, for each policy, a heap of those that may be
// asked now by their heads; where the keys in memory are used up, the next ones
// are read when the host's turn comes. Hosts at their window, at their cap or told to wait are not in it.
// The other hosts are in the store with the head of each queue, and in an index by these heads (hostindex.go). A dispatch
// takes the better of the best host in memory and the best one in the index, which is read into memory then; so the order of
// dispatches does not depend on which hosts are in memory.
//
// # Re-scoring
//
// A new model scores every unvisited entry again. Queue keys carry a generation: a pass moves
// entries from the current to the next one, as Rescore is called, the best ones first; everything that
// is placed meanwhile goes to the next one at once; dispatch takes the better of a host's two
// heads, so it goes on. At the end a range delete clears the old generation. A pass is finished
// under the model it was begun with, and then begins again under the newest if that is another.
// Within a call of Rescore one processor moves entries while the others score those that come next (stretch.go), from what
// is committed; how much of both a call does follows from the state alone, never from time.
// With learning.sync Dispatch finishes the pass itself, so that the order is that of one model. A pass changes
// nothing but places under policies that learn, and of an entry's links it scores only those of its tier, which no model
// changes (score). If a call may move all entries that are left, they are scored at once, page by page.
// After Open a pass under way goes on; if its model is superseded, the newest finishes it and
// one more pass follows.
//
// # Other policies
//
// Where a control record brings other policies, the queues are emptied and Rescore fills them again
// (rerank.go); what is not placed yet is in no queue, counts as queued, and keeps the crawl from ending.
// A model's pass waits until all entries are placed, or ends where it is when the policies change.
// With learning.sync Dispatch places them all first.
//
// # Hubs
//
// What the distiller's hubs link to (Raise) is a set of ordinals beside the entries: while an entry is
// in it, policies that raise place it above everything else of its tier, whatever its links, model or
// policies become. It leaves the set when it has its outcome; where it redirects, its target takes
// its place there. With learning.sync dispatch waits at each of the distiller's boundaries for the
// ranking behind it, if the distiller has seen the crawl from its beginning. A guide that is made of the crawl's own
// pages is waited for in the same way (renew.go).
//
// # Recovery
//
// A dispatch is decided by being in the log. Recover takes those that the state lacks; they
// reserve budget and window at once. Verdicts are then applied again. An entry that is
// discovered, or queued for its next attempt, takes over the recovered request instead of being
// queued, so no attempt is dispatched twice. Until the replay has caught up, more may be
// reserved than is really in flight, never less.
//
// A replay sees the newest control record, whatever was in force when verdicts came first. What it must reproduce
// therefore follows from the records alone (docs/decisions/0010).
//
// # Several shards
//
// A crawl may have several shards, each with the hosts whose hash says so (schemas.ShardOf); so
// politeness, host caps and the seen-set need no word between them. A shard that applies a verdict
// takes the links to its own hosts and sends each other shard one record with the links to that
// one's (Effects.Sent), with R(u) and the part of the leaf table that they need: leaps (u,v) are
// kept and settled where v is. A page of seeds comes to shard 0 and goes on in the same way.
//
// Where v redirects to a host of another shard, its pending links go there, one record a link
// (schemas.MovedLink); v is stateMoved from then on and sends on whatever still comes for it. In
// the target's shard the link's own URL becomes an alias entry, so that the leap keeps its name.
// If the target may not be fetched, its shard settles the leap by what the record says of v's
// dispatch. Redirects that go round through several shards end after maxMoves moves.
//
// Records of other shards are applied once, by their id, and count for the shard's clock as
// verdicts do. What a shard may dispatch is its lease (package shards): levels of pages, requests
// and window, which Apply takes from notes of shard 0. The end of the crawl is shard 0's word, too.
//
// A model becomes due by the pages of the whole crawl (package schedule): shard 0 counts its own and those that the
// others report, in the order of its input, and sends the boundaries; so a replay sends the same.
//
// # Keys
//
// Every key begins with 'F', the crawl's name behind its length (one byte) and the shard (four
// bytes), then a kind:
//
//	v                              → layout version, one byte
//	c                              → counters: all single numbers, outcomes, refusals, spans
//	m name u32                     → a policy's or model's name; entries say its number
//	h host u32                     → host: name, dispatched requests, end of its wait, backlog, heads of its queues
//	H URLID 16                     → host number, by the host's name
//	R host u32                     → nothing: a host that is in memory
//	Q policy u8, generation u32, class u32, tier u8, tries u16, score 8, ordinal u64, host u32 → nothing: index of the other hosts
//	z unreachable u8, time u64, host u32 → nothing: a host that waits
//	Z ^time u64, host u32          → nothing: a host that is unreachable, by the time since when
//	u URLID 16                     → ordinal: the exact seen-set
//	e ordinal u64                  → entry
//	l ordinal u64, page u64, index u32 → link: a leap (page, ordinal) that is not settled, behind the entry's first 8
//	q policy u8, generation u32, host u32, tier u8, tries u16, score 8, ordinal u64 → nothing
//	w time u64, ordinal u64        → nothing: an entry that waits after a failed try
//	f request id 16                → flight: a request without a verdict
//	p page u64                     → page: URL, R(u) and the number of its links that are not settled, while there are such
//	t page u64                     → its leaf table (linkfeature.Table)
//	i page u64                     → what guides said of its links, where they said something
//	x page u64                     → the ordinals that its links lead to, where a policy orders pages
//	b page u64                     → its links with their targets' ordinals, where the crawl has co-citation features
//	n ordinal u64                  → there, too: clock of the verdict by which R became known, or of the redirect
//	s id 16                        → nothing: what has no request and was applied: seeds, asks for a replay, links from another shard
//	d slot u32                     → latency sample
//	g                              → the newest note with a lease (schemas.ShardNote)
//	k shard u32                    → pages delivered that a shard reported, in shard 0
//	o clock u64                    → what rankers that learn from verdicts were told (schemas.LinkFound)
//	r                              → the pages of the last ranking of hubs
//	y                              → outage of the network, and the host that failed last
//	j                              → targets among the pages delivered, where a guide is made of these
//	a name u32                     → what a mixture has counted of the policy of that name
//
// Numbers in keys are big-endian. Ordinals count discovered URLs from 1; a page's number is the
// shard's clock, which counts applied records of link.found. A score is the float's bits, sign
// flipped for positive and all bits for negative numbers, then complemented, so that larger
// scores come first; −0 is 0 and NaN is refused. Values begin with a version byte; what they
// hold stands at their append functions. Layout 11 is the only one that is read: state is rebuilt
// from the topics, so it is never converted.
//
// # Memory
//
// Options.Memory bounds what is kept in memory to save reading; what does not fit lies in the
// store and is read when it is wanted (bounds.go):
//
//	1/4   entries used last, with their links
//	3/16  leaf tables used last
//	1/8   a stretch of a pass of re-scoring, and the next one
//	1/8   pages with pending links, used last; half of it for which links they have, where the crawl has
//	      co-citation features
//	1/8   the filter of URLs that were seen, 1.5 to 3 bytes each, a third of that where the eighth ends; beyond that it is off
//	1/16  ordinals of URLs looked up last, 8 bytes each
//	1/8   hosts used last, with the begins of their queues: 1 to 32 keys each, twice that at most
//
// Not bounded by it are requests in flight, with their hosts (the window bounds them), the hosts that one call touches,
// recovered requests until the replay has caught up, names of policies and models,
// what is prepared of the verdicts of a step, and a megabyte for the page being scored.
//
// Nor is what rankers that learn from verdicts have learnt (packages interest and tagbandit): each takes rank.MaxLearned at
// most for a shard, and takes in nothing new from then on.
//
// Opening a shard reads the hosts that were in memory and the seen-set, some 2 µs a key from Pebble, and what such rankers were told.
//
// # Decisions
//
// 2026-11-21: an entry's first 8 links stand in its value; those behind them are stored one by one
// beside it, so that the thousandth link to a page of a site's menu does not write the other 999
// again. Most entries never have 8, and a third of all keys were links. Scores of several links are folded
// (internal/rank/rank), so it does not read them either.
//
// 2026-11-22: a sweep leaves the queue keys of the entries that it moves where they are, and the range delete at the end of
// the pass takes them along; they were deleted one by one, a third of all that a pass wrote. How far the sweep has
// come is stored with the counters, and whatever reads keys of the old generation goes past those up to there; all others
// stand for queued entries. A shard that is opened in the middle of a pass goes on where that was.
//
// 2026-11-21: a shard's clock goes into every FetchRequest. "u was judged before v was
// dispatched" is then a comparison of two numbers that comes out the same after a crash, when a
// dispatch is known before the verdicts that led to it.
//
// 2026-11-21: a host's deferral makes the whole host wait, a failed try only its own URL: one
// broken page must not stop a site. fetch watches the health of hosts and defers by itself.
//
// 2026-11-21: a wait that a server asks for ends after a day, or one header could keep a crawl
// from ending. Deferrals themselves are not counted (schemas.Outcomes): a host that defers for
// ever is stopped with its crawl.
//
// 2026-11-21: links to URLs of a host that has reached its cap are refused; URLs of it that were
// known before stay, and count neither as queued nor against the end of the crawl, unless a
// deferral gives a request back.
//
// 2026-11-21: leaps settled after a redirect carry score, policy and model of the dispatch that
// brought the outcome (the target's), and the name of the link as it was found. A link that
// redirects to its own page is settled and never trains. Under PAIRS_FORWARD links to pages
// that were final already make no leap.
//
// 2026-11-21: a redirect charges nothing, even where its URL ends as BAD_REDIRECT: charges
// follow what fetch reported, so that budgets can be audited from page.fetched alone.
//
// 2026-11-21: a replayed URL has two final verdicts. The first one's charge and settled leaps
// stand, as both were sent and ids are used once; the next attempt is charged anew, under the
// score of the last dispatch, as the links that led to it are settled. Links found since decide
// instead once one passes the gate; those that do not pass leave the URL where it is.
//
// 2026-11-21: rel=nofollow links are followed: they say that a link is no endorsement, not that
// its target must not be fetched; robots.txt says that.
//
// 2026-11-21: Model is an interface although one type ships: simulations need models that cost
// nothing to make. An *apprentice.Model is scored through its page scorer.
//
// 2026-11-21: the window by default is found by trying (window.go), not computed as rate ×
// latency: what is in flight is that product already. On a synthetic web the demo went from
// some 100 to 400–600 pages a second; with polite delays it grows with the hosts at hand.
//
// 2026-11-22: the rate by which a window is found is that since the former look, over two windows of verdicts. As verdicts come in
// bursts, a window of them within a few milliseconds was a rate that none later came near, and the window
// mostly stayed at 16 to 64, in small batches. A lucky look may still come; so a doubling is tried again every 16
// windows of verdicts whatever was seen before.
//
// 2026-11-21: a slot of the window is left empty rather than filled with an entry that is worse than
// what the hosts at their windows hold back, while an eighth of the window is filled (held.go). On a
// synthetic web with 2 requests to a host and 150 in all, the taught apprentice's mean R of 3,000 pages
// went from 0.24 to 0.44, and where hosts want a pause of a second from 0.12 to 0.35 (soft focus: 0.21 to
// 0.31, 0.11 to 0.30); one by one it has 0.47 (0.38). The price are 13 pages a second instead of 72 where
// hosts want a pause, as few hosts have what is wanted; whoever wants pages fast rather than good ones sets
// a wider window ("forager experiment-simweb --overlap"). Without the least of 16, the window found by trying stays
// small. Half of the window instead of an eighth is little better than none (0.26, 0.20). Bounds on the
// number of better entries, or on the ratio of scores, gave the same pages at the same rate, and depend on
// what scores mean.
//
// 2026-11-21: where a crawl keeps no pause a host gets as many requests as it may, 100, not 2: there the
// host window only keeps the best hosts from being used. On webkb with its dead links 6,000 requests
// brought 1,015 pages at 7.9 ms of CPU each instead of 584 at 11.5 with 4 to a host; 16 to a host brought
// the same pages, but left so few requests in flight that a page took 11 ms.
//
// 2026-11-21: a model comes at least 200 times in a crawl, not every 100 pages for ever: with a
// budget of 200,000 pages models every 100 pages kept the whole frontier under re-scoring, and
// their objects were most of what the crawl stored. Up to 20,000 pages nothing changes.
//
// 2026-11-22: from 20,000 pages on a model comes when the crawl has grown by a tenth (package schedule), as every model
// scores the whole frontier again and that grows with the crawl: of 200,000 pages 35 models come and not 191.
//
// 2026-11-21: what only reads is done ahead on all processors: for a pass reading entries, pages and tables,
// scoring links, placing entries and encoding them (stretch.go, sweep.go), and for the verdicts of a step reading
// entries, scoring links and making features (prepare.go). That is more than half of the verdicts and five
// sixths of a pass; doing the rest beside it would mean sharing the whole shard. Prepare changes nothing but time,
// and its caller may leave it out.
//
// 2026-11-21: a pass takes the best entry left for every 256th one, and the others as they were
// discovered (sweep.go), where the design has best first alone: in a frontier of 10⁶ entries that jumps over
// all of the disk, at 200 µs an entry instead of 10. As many are taken as are dispatched meanwhile. Links of a
// stretch of them are scored in the order of their pages before any is moved, so that a page and its leaf table
// are read once a stretch and not once a link.
//
// 2026-11-22: the next stretch is scored on the other processors while the entries of one are moved on one of them, and not
// before; so that the serial part of a pass leaves none of them idle. That goes on
// within a call of Rescore alone: goroutines that went on between calls would have to be stopped at every change, and what a
// call does would depend on time. They read what is committed (Store.ReadCommitted), page by page in their order, and nothing
// of the shard that changes; what was not committed yet is scored where its entry is moved. Two stretches at once have the
// memory of one of before, as a link takes 20 bytes and not 64, and a stretch holds twice the links. Pages are read by
// going from one to the next, with no copy of their tables, and less often. The builds side by side, on a machine with two to six
// times the work that it can do: a pass over 900,000 entries takes .75 to .85 of the CPU (26 to 31 s, not 31 to 43); by the clock
// 10.5 to 14 s where it is given 2 to 2.6 processors of four (not 15 to 25), with slices of 30 ms at most (not 100 to 700).
//
// 2026-11-21: entries are not dispatched by the places that they had under policies of before, as those of an
// older model are: what a request says chose it, and an arm's credit, would be untrue. On 10⁶ entries
// placing them all takes some seconds; the best heads and 4,096 others are placed at the switch, in some 50 ms.
//
// 2026-11-21: links to new URLs are a third of all, and the store is slowest at finding nothing,
// so a filter in memory knows which URLs were never seen. Opening a shard reads the seen-set for it.
//
// 2026-11-22: ordinals of URLs looked up last are kept in 8 bytes (ordinals.go) instead of some 64 in maps by
// their ids, so that an entry that is not in memory mostly costs one read and not two: with 160 MiB the last 1.3
// million URLs are known by less than their ids, and an entry read for another URL is no answer. The filter went off
// where its next layer, of twice the size, no longer fitted: with 160 MiB at 8.3 million URLs. Its last layer now takes
// what room there is, and more URLs than it should, up to 25 million.
//
// 2026-11-22: a verdict is given the entries of its links as Prepare found them, as long as they are those in memory;
// they are not looked up again. Links to visited URLs, most of all where a site is crawled to its end, are not scored
// ahead: they place nothing. The features of the leaps that they settle at once are made ahead instead.
//
// 2026-11-22: Prepare itself only looks at what is in memory; reading entries and leaf tables, scoring links and making
// features go on while the first verdicts of the step are applied, which is work for one processor: in a frontier of 10⁷
// URLs that took two fifths of the time and preparing, during which nothing was applied, another third, on 2.5 of four
// processors in all. What goes on reads the store, the record and the model, and of the shard nothing that changes; so
// nobody has to stop it, and it may end behind the shard. Apply waits for its own verdict's, and lends a hand until then; so
// what a call does does not depend on time. An entry stored since Prepare is not taken from what was read ahead, whenever
// that was; that costs a note for each entry that is stored. A URL that was not seen when Prepare or who reads for it looked
// is not looked up again, unless it was seen since: the filter takes some new URLs for known, and the lowest level of the
// store is slowest at finding nothing. During a pass Prepare waits for all, as it scores what is stale of them together. In
// With 640 MiB for the frontier 55,000 links a second were taken at 10⁷ URLs (67,000 at 8·10⁶), and 45,000 (54,000) before,
// each in one run on four processors with nothing else to do.
// a frontier that grows to 400,000 URLs with 32 MiB, what Prepare keeps the shard waiting for is 4 % of the CPU time, not 39
// %; a new URL takes as much of it as before (five runs of each build in turns: .98 in the mean of all, .96 at best).
//
// 2026-11-22: while a pass goes on, a link to an entry that it has not scored yet places that anew from all its links,
// and their pages and leaf tables were read one after another while the verdict was applied. Prepare now scores them for
// all verdicts of a step, page by page on all processors. They stand beside the entries, as a verdict that is not
// applied must leave no score of an old model. In a frontier of 126,000 entries that is in memory for the most part,
// pages take 1.29 times the CPU during a pass, slices of the pass not counted, and not 1.45 times.
//
// 2026-11-22: a sweep moves up to 2,048 entries at a time, as many as a slice of a pass has as shipped (rescore_batch), and pages
// are scored in parts of 16: 512 entries and parts of 32 left two of three processors waiting for the last part. In turns on
// four processors with nothing else to do, 935,782 entries took 9.7 and 10.5 s in the mean of three passes each (8.8 at best, on 2.9
// processors) where they took 11.5 and 12.4 (on 2.6), as many seconds of CPU (25 to 35; the machine itself drifts as much).
// Slices take 80 ms at most, for 40.
//
// 2026-11-22: what a pass did on one processor was the queues, most of all their begins, which were read anew whenever the
// keys in memory were used up. Now they are read where the host's turn comes (front.go), old keys stay until the pass
// ends, and the best entries are placed while pages of the next stretch are scored. Moving entries in the queues is 6 % of a
// pass's CPU, for 13 %. The builds in turns, on a machine with eight times the work that it can do: five pairs of passes over
// 126,000 to 342,000 entries, with the memory in proportion, take .82 of the CPU in the mean (.68 to 1.06).
//
// 2026-11-22: of the two builds run side by side, with a tenth of the memory as shipped and 600,000 URLs, as 160 MiB
// have it at 6 million, a new URL takes 177 µs of CPU instead of 218 (at 240,000 142 to 150 instead of 163 to 173), all
// inflated by what else the machine did. What a URL costs is spread evenly now: 29 % reading ahead and scoring on all
// processors, 17 % applying on one, 18 % Pebble's compactions, 6 % its commits. Of the bytes written 43 % are leaf
// tables, 34 % entries (three writes a URL), 12 % queue keys. Writing links to known URLs as merge operands
// would save some 13 % of the bytes, and make every read of an entry look through all levels; it was left out.
//
// 2026-11-22: what goroutines read and score with is kept for the next time, and the table of a page that a pass scores
// is read where it lies, not copied; an eighth of all that was allocated. With that and fewer compactions (package
// stream) a new URL takes .84 of the CPU in a frontier of 400,000 with the memory that is shipped (74 µs instead of 89),
// and an entry that is scored again .87 (40 µs instead of 46); the builds side by side, on a machine with ten times the
// work that it can do.
//
// 2026-11-22: leaf tables stay as they are. Of the benchmark's 4,300 bytes each a denser layout would save much, but webkb's
// pages have 1,190, of which half is text: Snappy makes 1,137 of them, zstd 978, a layout by single bytes 901. Ids
// of a dictionary would save more, and be one more thing to read before a leap can be settled, which names its terms.
// Crawls whose rankers need no features keep tables, too, for the leaps that they settle.
//
// 2026-11-21: what guides say of a page's links (guidance.go) stands in the page's value, as it is read
// where R(u) is. Where a crawl's policies are switched to another guide, pages that were judged before
// have no guidance of it: their links form the last tier until pages judged later link to the same URLs. Of another
// version of the same guide the old scores stand (package rank).
//
// 2026-11-22: a query of backlinks is charged as a request, so it is reserved as one: whether there may be one is decided
// at dispatch, for every page whatever its layer, and travels with the request. What the pages need not is free again
// with their verdicts; until then up to a window of the ration may stand idle.
//
// 2026-11-22: a page that a policy of pages has begun to expand is found by its number, and its links are placed anew one by
// one: a page has some ten links to new URLs, and an index of all entries by page would be written for each. An
// expansion that was begun behind the last commit of a process that died is begun again by the page's next link.
//
// 2026-11-21: links for other shards are sent by u's shard once the verdict on u counts, not by
// feature-extract beside the verdict. So the stages before know nothing of shards, "first of an id
// wins" is decided in one place, and links of a verdict that nobody counts (a page fetched twice
// with two outcomes) reach nobody. It costs such links one more hop through the broker.
//
// 2026-11-21: each shard of a crawl has arms of its own and learns from its own pages only: what a
// policy brings on the hosts of one shard says little of the others', and nobody has to wait.
//
// 2026-11-21: pages alone credit an arm. A 404 says nothing of relevance, and the budget is in
// pages; a redirect credits the arm that chose the target's request.
//
// 2026-11-22: a shadow has no queues. Its own crawl would come to other pages, so that what it makes of a
// frontier that another policy opened is a guess however it is kept; with queues it would cost as much as an arm of a
// mixture, and change how fast a crawl goes that it is to leave alone. What it says of the pages that were fetched is
// enough to compare orders on them, at the price of one placing a request.
//
// 2026-11-22: co-citation features (cocitation.go; 2002 §3.8) are what was known when v was requested. That is no
// state to be copied at the dispatch: R(w) stands in w's entry, the clock of w's verdict beside it, and the
// clock of v's dispatch in v's, so two numbers are compared, which come out the same after a crash. A page keeps
// which links it has for as long as one of them is not settled. Both are stored in crawls that have the
// features only, one small key a delivered page and one a page with pending links. There nothing is scored
// ahead (ahead.go): what is ahead knows no verdicts between; a score costs a look-up more for each link beside it, and
// a verdict places the unvisited links beside the page's own anew, at most 256. With several shards a
// shard knows the links to its own hosts and no others.
//
// 2026-11-21: with several shards a window found by trying is that of each shard; the lease bounds
// it. Their default bound is budget/20 as ever, but at least one request a shard.
package frontier
