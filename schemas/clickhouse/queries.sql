-- Questions to ask of a crawl. Each has a name and describes its result; {crawl:String} is the crawl's
-- name, as in: forager query "…" --crawl NAME, or param_crawl=NAME over HTTP.

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

-- outcomes: what became of the requests of every crawl
SELECT crawl, outcome, count() AS requests, round(100 * requests / sum(requests) OVER (PARTITION BY crawl), 1) AS percent
FROM verdicts
GROUP BY crawl, outcome
ORDER BY crawl, requests DESC;

-- hosts: the hosts of a crawl by the relevance that they gave
SELECT
    host,
    count() AS requests,
    countIf(outcome = 'delivered') AS delivered,
    round(sumIf(relevance, outcome = 'delivered'), 2) AS sum,
    round(avgIf(relevance, outcome = 'delivered'), 3) AS mean,
    round(avgIf(duration_ms, outcome = 'delivered')) AS milliseconds
FROM pages
WHERE crawl = {crawl:String}
GROUP BY host
ORDER BY sum DESC, host
LIMIT 50;

-- best: the most relevant pages of a crawl and how they were found
SELECT round(relevance, 4) AS relevance, url, title, depth, policy, round(score, 4) AS score, via
FROM pages
WHERE crawl = {crawl:String} AND outcome = 'delivered'
ORDER BY relevance DESC, applied
LIMIT 20;

-- hubs: pages whose links led to relevant pages, though they need not be relevant themselves
SELECT u, any(source) AS relevance, count() AS leaps, round(sum(target), 2) AS led_to, round(avg(target), 3) AS mean
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
SELECT url, count() AS times, max(pages) AS last_marked_at, round(max(score), 4) AS best_score, round(any(relevance), 4) AS relevance
FROM hubs
WHERE crawl = {crawl:String} AND marked
GROUP BY url
ORDER BY times DESC, best_score DESC, url
LIMIT 100;

-- learned: the features of links that tell relevant targets from others (log odds, as the apprentice weighs them)
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

-- shadows: R of the pages fetched, by quarter (4 the best) of the order of each ranker that chooses nothing; it sees only what another chose
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
ORDER BY pages;

-- latency: time from dispatch to verdict, and to the end of the fetch, milliseconds
SELECT
    outcome, count() AS requests,
    quantile(0.5)(dateDiff('millisecond', dispatched_at, applied_at)) AS loop_p50,
    quantile(0.95)(dateDiff('millisecond', dispatched_at, applied_at)) AS loop_p95,
    quantile(0.5)(dateDiff('millisecond', dispatched_at, fetched_at) + duration_ms) AS fetch_p50
FROM pages
WHERE crawl = {crawl:String} AND outcome != '' AND fetch_outcome != ''
GROUP BY outcome
ORDER BY requests DESC;

-- waiting: requests without a verdict, oldest first
SELECT ordinal, url, attempt, dispatched_at, fetch_outcome
FROM pages
WHERE crawl = {crawl:String} AND outcome = ''
ORDER BY dispatched_at, ordinal
LIMIT 50;

-- trouble: why requests of a crawl failed
SELECT outcome, status, detail, count() AS requests, any(url) AS example
FROM verdicts
WHERE crawl = {crawl:String} AND outcome NOT IN ('delivered', 'redirected', 'deferred', 'robots-unavailable', 'network-unreachable', 'host-unreachable')
GROUP BY outcome, status, detail
ORDER BY requests DESC, outcome, status, detail
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

-- letters: records that no stage could handle
SELECT stage, topic, of_partition, of_offset, crawl, url, tries, substring(error, 1, 200) AS error
FROM letters
ORDER BY at DESC
LIMIT 50;
