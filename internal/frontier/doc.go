// Package frontier is the state machine of one shard of a crawl: the URLs that are known, the requests in flight, the
// outcome of every request, and the ledger of leaps. A leap is a link (u,v): predicted when it is found, settled when v has
// its outcome. The stage prioritize runs a Shard on Pebble, package lab/experiment on NewMemory; only the Store differs.
//
// # Use
//
// Open reads a shard from its Store, Configure sets the crawl's control record, SetModel the apprentice's model. Apply
// takes verdicts, seeds and records of other shards, and returns what is to be sent (Effects). Dispatch returns the next
// requests, Rescore does a part of the work that a new model or new policies cause, Wake returns when time alone makes an
// entry ready, Raise takes a ranking of hubs. Recover takes requests that are in the log and not yet in the state. Prepare
// reads and scores for Apply in advance; it is optional and changes nothing but time.
//
// Time is an argument. The order of URLs never depends on it; only when a host or a failed URL may be tried again does. All
// that must survive is in the Store when a call returns: a caller that commits the Store between calls can open the shard
// again and gets the same results. After an error a Shard must be discarded.
//
// # Parts
//
// A Shard composes parts, each of which uses those above it only:
//
//	storage    the Store, caches and the decoder of stored values
//	state      what is stored: entries with their links, pages, counters
//	queue      hosts, the queues of their entries, what waits
//	place      the places of entries under the policies
//	rescore    passes under a new model or new policies, prepared verdicts; schedule: when models are due
//	frontier   apply (verdicts), ledger (settled leaps), peers, lease (other shards), flight, recover (requests without a verdict),
//	           dispatch, throttled (slots left empty), window, mixture, learner, boost (hubs), retraining (guides), status
//	shards     how shards share budget and window; why: what became of a URL, read from a stored shard
//
// A verdict takes this way: Apply finds its request (flights.complete), makes its entry final (applier.finish), enters or adds to
// the entries of its links (applyLinks → applyLink → enter or addLink: placed, queued, saved), and settles the leaps into
// its own entry (ledger.settle).
//
// # Order
//
// Under a policy: tier ↑, failed tries ↑, score ↓, discovery ↑ (policy.Place, state.Order). Every policy orders the same
// entries, with one queue key each; a dispatch takes the entry out of all queues. The first policy leads: its head is
// dispatched. In a crawl with a mixture (policy.Mixture) each dispatch draws the policy that leads, as a function of the
// crawl's random seed, the ordinal of the dispatch and the arms, which follow from the verdicts and the log; so a replay
// under the same control record finds the same arms. Each host has a queue for each policy. Which hosts are in memory
// changes the cost of a dispatch, never its result (docs/decisions/0020). A slot of the window may be left empty (0102).
//
// # Re-scoring
//
// Queue keys carry a generation. A pass under a new model moves the entries from the current generation to the next, call
// by call of Rescore; what is placed meanwhile goes to the next one directly, and dispatch takes the better of a host's two
// heads. At the end a range delete clears the old generation. A pass is finished under the model that it was begun with;
// then the newest is used. After a change of policies the queues are emptied and filled again in the same way; entries that
// are not placed yet keep the crawl from ending. Under learning.sync Dispatch finishes both first, and waits for due
// models, rankings of hubs and guides; most models make no pass then, and tiers are scored before a policy chooses from them. See
// 0090 (what is scored) and 0104 (the order of a pass).
//
// # Recovery
//
// A request is decided by being in the log. Recover takes those that the state lacks; they reserve budget and window at
// once. Verdicts are then applied again. An entry that is discovered, or queued for its next attempt, takes over the
// recovered request, so no attempt is dispatched twice. Until the replay has caught up, more may be reserved than is in
// flight, never less. A replay reads the newest control record only; what it must reproduce follows from the records (0010).
//
// # Several shards
//
// Each shard has the hosts that hash to it (schemas.ShardOf). The shard that applies a verdict takes the links to its own
// hosts and sends each other shard one record with the links to that shard's hosts, R(u) and the part of the leaf table
// that they need; leaps (u,v) are settled where v is. If v redirects to another shard, its pending links are sent there,
// one record a link (schemas.MovedLink), at most maxMoves times. What a shard may dispatch is its lease (package shards),
// which comes in notes of shard 0. Shard 0 also decides when models are due, by the pages that the shards report, and when
// the crawl ends.
//
// # Memory
//
// Options.Memory bounds what is kept in memory to save reading: 1/4 entries with their links, 3/16 leaf tables, 1/8 each
// for links of a re-scoring pass, pages with pending links, the filter of seen URLs, and hosts with the heads of their
// queues, 1/16 ordinals of URLs. Not bounded by it are requests in flight, hosts that one call touches, names of policies
// and models, what is prepared of the verdicts of a step, terms of leaf tables (0106), and rankers that learn from verdicts:
// Learned counts these, except those of experiments (0021). Open reads these, the hosts that were in memory and the seen-set.
//
// Decisions: 0100 (retries), 0101 (leaps, charges), 0102 (window), 0103 (models), 0104 (passes), 0105 (Prepare), 0106
// (layout), 0107 (guides), 0108 (mixtures, shadows), 0109 (co-citation), 0110 (shards). Sources: Chakrabarti, van den Berg
// & Dom 1999; Chakrabarti, Punera & Subramanyam 2002, §3; Diligenti et al. 2000, §3.3; Liu, Milios & Korba 2008.
package frontier
