-- Questions to ask of a crawl. Each has a name and describes its result; {crawl:String} is the crawl's
-- name, as in: forager query "…" --crawl NAME, or param_crawl=NAME over HTTP. Rows have a total order, so that a
-- result can be repeated. docs/queries.md and the monitor show these queries.

-- # Sums

-- overview: sums of every crawl; as_of and rows of the view sums are when and of how many rows they were computed
SELECT
    crawl, requests, delivered, targets, round(relevance / greatest(delivered, 1), 4) AS harvest, round(delivered - relevance, 2) AS loss, bytes,
    leaps, round(leaps_relevance / greatest(leaps_delivered, 1), 4) AS leap_harvest
FROM sums
WHERE breakdown = 'total'
ORDER BY crawl;

-- breakdowns: sums of a crawl by depth, model, outcome, policy (a ranker, or an arm of a mixture) and topic
SELECT
    breakdown, key, requests, delivered, targets, round(relevance / greatest(delivered, 1), 4) AS harvest,
    leaps, round(leaps_relevance / greatest(leaps_delivered, 1), 4) AS leap_harvest
FROM sums
WHERE crawl = {crawl:String} AND breakdown IN ('depth', 'model', 'outcome', 'policy', 'topic')
ORDER BY breakdown, key;

-- summed-minutes: sums of a crawl by minute
SELECT toDateTime(key, 'UTC') AS minute, requests, delivered, round(relevance / greatest(delivered, 1), 4) AS harvest, bytes, leaps
FROM sums
WHERE crawl = {crawl:String} AND breakdown = 'minute'
ORDER BY minute;

-- summed-hosts: sums of a crawl by host, those that gave most relevance first
SELECT key AS host, requests, delivered, targets, round(relevance, 2) AS sum, round(relevance / greatest(delivered, 1), 3) AS mean, bytes
FROM sums
WHERE crawl = {crawl:String} AND breakdown = 'host'
ORDER BY sum DESC, host
LIMIT 50;

-- # Harvest and loss

-- harvest: harvest rate of every crawl, over all pages so far and over the last 100, each 50 pages
SELECT crawl, n AS pages, round(so_far, 4) AS harvest, round(last, 4) AS last_100
FROM
(
    SELECT
        crawl,
        row_number() OVER (PARTITION BY crawl ORDER BY turn, shard, offset) AS n,
        avg(relevance) OVER (PARTITION BY crawl ORDER BY turn, shard, offset ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS so_far,
        avg(relevance) OVER (PARTITION BY crawl ORDER BY turn, shard, offset ROWS BETWEEN 99 PRECEDING AND CURRENT ROW) AS last
    FROM
    (
        -- One shard's verdicts have an order; those of several are put in that of their time stamps.
        SELECT crawl, shard, offset, relevance, if(max(shard) OVER (PARTITION BY crawl) = 0, 0, toUnixTimestamp64Milli(recorded_at)) AS turn
        FROM verdicts
        WHERE outcome = 'delivered'
    )
)
WHERE n % 50 = 0
ORDER BY crawl, n;

-- loss: loss of a crawl, its sum of 1 - R over the pages, and its rate, at each twentieth
WITH
    (SELECT count() FROM verdicts WHERE crawl = {crawl:String} AND outcome = 'delivered') AS pages,
    (SELECT max(shard) FROM verdicts WHERE crawl = {crawl:String}) AS last_shard
SELECT n AS pages_so_far, round(n - gain, 2) AS loss, round(1 - gain / n, 4) AS rate
FROM
(
    SELECT
        row_number() OVER (ORDER BY turn, shard, offset) AS n,
        sum(relevance) OVER (ORDER BY turn, shard, offset ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS gain,
        if(last_shard = 0, 0, toUnixTimestamp64Milli(recorded_at)) AS turn -- as in harvest
    FROM verdicts
    WHERE crawl = {crawl:String} AND outcome = 'delivered'
)
WHERE intDiv(n * 20, greatest(pages, 1)) != intDiv((n - 1) * 20, greatest(pages, 1)) -- without pages, too, the divisor counts
ORDER BY n;

-- minutes: harvest rate of a crawl by minute
SELECT
    toStartOfMinute(recorded_at) AS minute, count() AS requests, countIf(outcome = 'delivered') AS delivered,
    round(sumIf(relevance, outcome = 'delivered') / greatest(delivered, 1), 4) AS harvest
FROM verdicts
WHERE crawl = {crawl:String}
GROUP BY minute
ORDER BY minute;

-- targets: after how many pages and verdicts a crawl had found its first 1, 2, 5, 10 … pages with R of 0.5 or more
WITH (SELECT max(shard) FROM verdicts WHERE crawl = {crawl:String}) AS last_shard
SELECT targets, delivered, requests, at
FROM
(
    SELECT
        outcome = 'delivered' AND relevance >= 0.5 AS hit, if(last_shard = 0, 0, toUnixTimestamp64Milli(recorded_at)) AS turn, recorded_at AS at, -- as in harvest
        countIf(hit) OVER w AS targets, countIf(outcome = 'delivered') OVER w AS delivered, count() OVER w AS requests
    FROM verdicts
    WHERE crawl = {crawl:String}
    WINDOW w AS (ORDER BY turn, shard, offset ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WHERE hit AND targets IN (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000)
ORDER BY targets;

-- depths: harvest rate of a crawl by the number of hops from a seed
SELECT
    depth, count() AS requests, countIf(outcome = 'delivered') AS delivered,
    round(sumIf(relevance, outcome = 'delivered') / greatest(delivered, 1), 4) AS harvest
FROM pages
WHERE crawl = {crawl:String} AND outcome != ''
GROUP BY depth
ORDER BY depth;

-- topics: the pages of a crawl by their best topic
SELECT topics[1] AS topic, count() AS delivered, round(avg(relevance), 4) AS harvest, round(avg(posteriors[1]), 4) AS posterior
FROM judgements
WHERE crawl = {crawl:String} AND outcome = 'delivered' AND notEmpty(topics)
GROUP BY topic
ORDER BY delivered DESC, topic
LIMIT 50;

-- languages: the pages of a crawl by language, and their harvest rate
SELECT language, count() AS delivered, round(100 * delivered / sum(delivered) OVER (), 1) AS percent, round(avg(relevance), 4) AS harvest
FROM judgements
WHERE crawl = {crawl:String} AND outcome = 'delivered'
GROUP BY language
ORDER BY delivered DESC, language;

-- hosts: the hosts of a crawl by the relevance that they gave
SELECT
    host,
    count() AS requests,
    countIf(outcome = 'delivered') AS delivered,
    round(sumIf(relevance, outcome = 'delivered'), 2) AS sum,
    round(sumIf(relevance, outcome = 'delivered') / greatest(delivered, 1), 3) AS mean,
    round(sumIf(duration_ms, outcome = 'delivered') / greatest(delivered, 1)) AS milliseconds
FROM pages
WHERE crawl = {crawl:String}
GROUP BY host
ORDER BY sum DESC, host
LIMIT 50;

-- best: the most relevant pages of a crawl and how they were found
SELECT round(relevance, 4) AS relevance, url, title, depth, policy, round(score, 4) AS score, via
FROM pages
WHERE crawl = {crawl:String} AND outcome = 'delivered'
ORDER BY relevance DESC, url, attempt
LIMIT 20;

-- # Rankers and models

-- arms: harvest and loss of each policy of a crawl, by the requests that it chose
SELECT
    policy, count() AS requests, countIf(outcome = 'delivered') AS delivered,
    round(sumIf(relevance, outcome = 'delivered') / greatest(delivered, 1), 4) AS harvest,
    round(delivered - sumIf(relevance, outcome = 'delivered'), 2) AS loss, round(avg(score), 4) AS mean_score
FROM pages
WHERE crawl = {crawl:String} AND outcome != ''
GROUP BY policy
ORDER BY policy;

-- versions: harvest rate by the version of the model that a request was chosen with; empty = without one
SELECT
    model, min(ordinal) AS first_request, max(ordinal) AS last_request, count() AS requests, countIf(outcome = 'delivered') AS delivered,
    round(sumIf(relevance, outcome = 'delivered') / greatest(delivered, 1), 4) AS harvest
FROM pages
WHERE crawl = {crawl:String} AND outcome != ''
GROUP BY model
ORDER BY first_request, model;

-- learned: the features of links that distinguish relevant targets from others (log odds, as the apprentice weighs them), where one ranks or is a shadow
WITH
    (SELECT median(target) FROM leaps WHERE crawl = {crawl:String} AND trains) AS cut,
    (SELECT countIf(target >= cut) FROM leaps WHERE crawl = {crawl:String} AND trains) AS highs,
    (SELECT countIf(target < cut) FROM leaps WHERE crawl = {crawl:String} AND trains) AS lows
SELECT
    term, if(d = 127, 'none', toString(d)) AS dom_offset,
    uniqExactIf(id, target >= cut) AS high, uniqExactIf(id, target < cut) AS low,
    round(log((high + 1) / (highs + 2)) - log((low + 1) / (lows + 2)), 2) AS log_odds
FROM leaps
ARRAY JOIN terms AS term, offsets AS d
WHERE crawl = {crawl:String} AND trains
GROUP BY term, d
HAVING high + low >= 5
ORDER BY abs(log_odds) DESC, term, d
LIMIT 50;

-- promised: what was promised at dispatch against what came of it, by policy and tenth of the score
SELECT policy, model != '' AS learned, floor(least(greatest(score, 0), 0.999) * 10) / 10 AS promised, count() AS leaps, round(avg(target), 3) AS kept
FROM leaps
WHERE crawl = {crawl:String} AND outcome = 'delivered'
GROUP BY policy, learned, promised
ORDER BY policy, learned, promised;

-- calibration: how far scores at dispatch are from what came of them, by policy and model: mean squared error, bias, and the mean gap of tenths
SELECT
    policy, model, sum(n) AS leaps, round(sum(squares) / leaps, 4) AS squared_error, round(sum(gap) / leaps, 4) AS bias,
    round(sum(abs(gap)) / leaps, 4) AS calibration_error
FROM
(
    SELECT policy, model, least(floor(score * 10), 9) AS tenth, count() AS n, sum(score - target) AS gap, sum((score - target) * (score - target)) AS squares
    FROM leaps
    WHERE crawl = {crawl:String} AND outcome = 'delivered' AND score BETWEEN 0 AND 1
    GROUP BY policy, model, tenth
)
GROUP BY policy, model
ORDER BY policy, model;

-- locality: do relevant pages link to relevant pages: mean R of targets by tenth of R of the page with the link
SELECT least(floor(source * 10), 9) / 10 AS source_from, count() AS leaps, round(avg(target), 4) AS mean_target, round(avg(target >= 0.5), 4) AS relevant
FROM leaps
WHERE crawl = {crawl:String} AND outcome = 'delivered' AND u != ''
GROUP BY source_from
ORDER BY source_from;

-- shadows: R of the pages fetched, by quarter (4 the best) of the order of each ranker that chooses nothing; it ranked only what another chose
SELECT policy, quarter, count() AS pages, round(avg(relevance), 3) AS harvest, round(avg(score), 3) AS scored, round(avg(used_score), 3) AS scored_by_used
FROM
(
    SELECT policy, relevance, score, used_score, ntile(4) OVER (PARTITION BY policy ORDER BY NOT dropped, -toInt64(tier), score, request ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS quarter
    FROM ranker_shadows
    WHERE crawl = {crawl:String} AND outcome = 'delivered'
)
GROUP BY policy, quarter
ORDER BY policy, quarter;

-- models: the models of a crawl and what they were trained on
SELECT model, pages, leaps, created_at, measures
FROM models
WHERE crawl = {crawl:String}
ORDER BY pages, model;

-- # Judgement

-- critics: the pages of a crawl by the critic that judged them, and the revision of the crawl's settings
SELECT critic, marking AS revision, degraded, count() AS delivered, round(avg(relevance), 4) AS harvest, round(avg(calibrated), 4) AS calibrated
FROM judgements
WHERE crawl = {crawl:String} AND outcome = 'delivered'
GROUP BY critic, revision, degraded
ORDER BY revision, critic, degraded;

-- # Where relevant pages come from

-- hubs: pages whose links led to relevant pages, though they need not be relevant themselves
SELECT u, max(source) AS relevance, count() AS leaps, round(sum(target), 2) AS led_to, round(avg(target), 3) AS mean
FROM leaps
WHERE crawl = {crawl:String} AND outcome = 'delivered' AND u != ''
GROUP BY u
ORDER BY led_to DESC, u
LIMIT 20;

-- distilled: hubs and authorities of a crawl as its distiller ranked them last, the first 20 of each
SELECT kind, place, url, round(score, 4) AS score, round(relevance, 4) AS relevance, marked, pages AS ranked_at
FROM hubs
WHERE crawl = {crawl:String} AND place <= 20
    AND (shard, pages) IN (SELECT shard, max(pages) FROM hubs WHERE crawl = {crawl:String} GROUP BY shard)
ORDER BY kind DESC, place, shard;

-- revisit: hubs of a crawl that its distiller ever marked, by how often: pages that may link to something new by now
SELECT url, count() AS times, max(pages) AS last_marked_at, round(max(score), 4) AS best_score, round(argMax(relevance, pages), 4) AS relevance
FROM hubs
WHERE crawl = {crawl:String} AND marked
GROUP BY url
ORDER BY times DESC, best_score DESC, url
LIMIT 100;

-- sources: hosts by what their links led to
SELECT domain(u) AS source, uniqExact(u) AS linking, count() AS leaps, countIf(target >= 0.5) AS relevant, round(avg(target), 4) AS mean
FROM leaps
WHERE crawl = {crawl:String} AND outcome = 'delivered' AND u != ''
GROUP BY source
ORDER BY relevant DESC, leaps DESC, source
LIMIT 50;

-- seeds: what became of the seeds of a crawl, and of the pages that their links decided about
SELECT s.seed AS seed, p.last.1 AS outcome, round(p.last.2, 4) AS relevance, c.pages AS led_to, round(c.gain / greatest(c.pages, 1), 4) AS harvest
FROM (SELECT DISTINCT v AS seed FROM links WHERE crawl = {crawl:String} AND u = '') AS s
LEFT JOIN (SELECT url, argMax((outcome, relevance), attempt) AS last FROM pages WHERE crawl = {crawl:String} GROUP BY url) AS p ON p.url = s.seed
LEFT JOIN (SELECT via, count() AS pages, sum(relevance) AS gain FROM pages WHERE crawl = {crawl:String} AND outcome = 'delivered' GROUP BY via) AS c ON c.via = s.seed
ORDER BY led_to DESC, seed
LIMIT 100;

-- # Requests that gave nothing

-- outcomes: what became of the requests of every crawl
SELECT crawl, outcome, count() AS requests, round(100 * requests / sum(requests) OVER (PARTITION BY crawl), 1) AS percent
FROM verdicts
GROUP BY crawl, outcome
ORDER BY crawl, requests DESC, outcome;

-- waste: hosts by requests that gave nothing: charged ones without a page, and pages with R below 0.5
SELECT
    host, count() AS requests, countIf(outcome != 'delivered') AS without_page, countIf(outcome = 'delivered' AND relevance < 0.5) AS off_topic,
    round(requests - sumIf(relevance, outcome = 'delivered'), 2) AS wasted
FROM pages
WHERE crawl = {crawl:String}
    AND (outcome IN ('delivered', 'not-html', 'client-error', 'server-error', 'timeout', 'connection-failed', 'bad-redirect', 'excluded') OR startsWith(outcome, 'failed:'))
GROUP BY host
ORDER BY wasted DESC, host
LIMIT 50;

-- trouble: why requests of a crawl failed
SELECT outcome, status, detail, count() AS requests, min(url) AS example
FROM verdicts
WHERE crawl = {crawl:String} AND outcome NOT IN ('delivered', 'redirected', 'deferred', 'robots-unavailable', 'network-unreachable', 'host-unreachable')
GROUP BY outcome, status, detail
ORDER BY requests DESC, outcome, status, detail
LIMIT 50;

-- refusals: why requests of a crawl were refused: robots.txt, forbidden addresses, excluded types and languages, what is no HTML
SELECT
    outcome, replaceRegexpAll(substring(detail, 1, 80), '[0-9a-f]{6,}|[0-9]+', '#') AS reason, count() AS requests, uniqExact(host) AS hosts,
    min(url) AS example
FROM pages
WHERE crawl = {crawl:String} AND outcome IN ('robots-disallowed', 'robots-unavailable', 'refused', 'excluded', 'not-html', 'bad-redirect')
GROUP BY outcome, reason
ORDER BY requests DESC, outcome, reason
LIMIT 50;

-- refused-links: why links of a crawl were never requested, by the newest status of each shard
SELECT reason, sum(n) AS links, round(100 * links / sum(links) OVER (), 1) AS percent
FROM
(
    SELECT arrayJoin(CAST(newest, 'Array(Tuple(String, UInt64))')) AS one, one.1 AS reason, one.2 AS n
    FROM (SELECT shard, argMax(refused, (at, epoch)) AS newest FROM statuses WHERE crawl = {crawl:String} GROUP BY shard)
)
GROUP BY reason
ORDER BY links DESC, reason;

-- redirects: which hosts redirect to which
SELECT host, domain(redirect) AS target, count() AS redirects
FROM pages
WHERE crawl = {crawl:String} AND outcome = 'redirected'
GROUP BY host, target
ORDER BY redirects DESC, host, target
LIMIT 50;

-- retries: what further attempts at a URL are worth
SELECT attempt, count() AS requests, countIf(outcome = 'delivered') AS delivered, round(100 * delivered / requests, 1) AS percent
FROM pages
WHERE crawl = {crawl:String} AND outcome != ''
GROUP BY attempt
ORDER BY attempt;

-- duplicates: equal pages at several URLs
SELECT digest, count() AS copies, uniqExact(host) AS hosts, sum(size) AS bytes, min(url) AS example
FROM pages
WHERE crawl = {crawl:String} AND outcome = 'delivered' AND digest != ''
GROUP BY digest
HAVING copies > 1
ORDER BY copies DESC, digest
LIMIT 50;

-- # Time and politeness

-- latency: time from dispatch to verdict, and to the end of the fetch, milliseconds
SELECT
    outcome, count() AS requests,
    quantileExact(0.5)(dateDiff('millisecond', dispatched_at, applied_at)) AS loop_p50,
    quantileExact(0.95)(dateDiff('millisecond', dispatched_at, applied_at)) AS loop_p95,
    quantileExact(0.5)(dateDiff('millisecond', dispatched_at, fetched_at) + duration_ms) AS fetch_p50
FROM pages
WHERE crawl = {crawl:String} AND outcome != '' AND fetch_outcome != ''
GROUP BY outcome
ORDER BY requests DESC, outcome;

-- gaps: time between the end of a request to a host and the begin of the next one, milliseconds, 0 where they overlap; refusals by 429 and 503
SELECT
    host, count() AS requests, countIf(nth > 1) AS gaps, if(gaps = 0, 0, minIf(gap, nth > 1)) AS least,
    if(gaps = 0, 0, quantileExactIf(0.5)(gap, nth > 1)) AS median, countIf(status = 429) AS status_429, countIf(status = 503) AS status_503
FROM
(
    SELECT
        host, status, toUnixTimestamp64Milli(fetched_at) AS begin, row_number() OVER (PARTITION BY host ORDER BY begin, id) AS nth,
        toUInt64(greatest(begin - max(begin + duration_ms) OVER (PARTITION BY host ORDER BY begin, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)) AS gap
    FROM fetches
    WHERE crawl = {crawl:String} AND (status > 0 OR outcome IN ('timeout', 'connection-failed'))
)
GROUP BY host
ORDER BY requests DESC, host
LIMIT 50;

-- answers: HTTP statuses of the hosts of a crawl, and how long the answers took in milliseconds
SELECT status, count() AS responses, round(100 * responses / sum(responses) OVER (), 1) AS percent, round(avg(duration_ms)) AS milliseconds
FROM fetches
WHERE crawl = {crawl:String} AND status > 0
GROUP BY status
ORDER BY status;

-- waiting: requests without a verdict, oldest first
SELECT ordinal, url, attempt, dispatched_at, fetch_outcome
FROM pages
WHERE crawl = {crawl:String} AND outcome = ''
ORDER BY dispatched_at, ordinal
LIMIT 50;

-- progress: how a crawl went on, by minute
SELECT toStartOfMinute(at) AS minute, max(standings.dispatched) AS dispatched, max(standings.pages) AS pages, argMax(standings.queued, at) AS queued, argMax(standings.in_flight, at) AS in_flight, argMax(standings.activity, at) AS activity
FROM standings
WHERE crawl = {crawl:String}
GROUP BY minute
ORDER BY minute;

-- outages: when a crawl could not use the network, and why
SELECT shard, since, until, cause
FROM outages
WHERE crawl = {crawl:String}
ORDER BY since, shard;

-- # Several crawls, and records in trouble

-- overlap: pages that two crawls have both fetched, and their share of what either has
WITH pairs AS
(
    SELECT one, other, count() AS n
    FROM
    (
        SELECT one, arrayJoin(crawls) AS other
        FROM
        (
            SELECT crawls, arrayJoin(crawls) AS one
            FROM (SELECT url, groupUniqArray(toString(crawl)) AS crawls FROM verdicts WHERE outcome = 'delivered' GROUP BY url)
        )
    )
    GROUP BY one, other
)
SELECT p.one AS crawl, p.other AS other_crawl, a.n AS delivered, b.n AS other_delivered, p.n AS shared, round(shared / (delivered + other_delivered - shared), 4) AS jaccard
FROM pairs AS p
INNER JOIN pairs AS a ON a.one = p.one AND a.other = p.one
INNER JOIN pairs AS b ON b.one = p.other AND b.other = p.other
WHERE p.one < p.other
ORDER BY crawl, other_crawl;

-- letters: records that no stage could handle
SELECT stage, topic, of_partition, of_offset, crawl, url, tries, substring(error, 1, 200) AS error
FROM letters
ORDER BY at DESC, stage, topic, of_partition, of_offset
LIMIT 50;

-- dead: records that no stage could handle, by stage, crawl and class of error
SELECT stage, crawl, replaceRegexpAll(substring(error, 1, 80), '[0-9a-f]{6,}|[0-9]+', '#') AS class, count() AS records, max(at) AS last
FROM letters
GROUP BY stage, crawl, class
ORDER BY records DESC, stage, crawl, class
LIMIT 50;
