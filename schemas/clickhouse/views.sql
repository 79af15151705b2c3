-- What is to be read: each record once, the first one, ids in lower-case hex. They are made again
-- whenever this file changed.

-- Requests with ids in a range, both ends in hex, by the sorting key; the view requests has all of them.
CREATE OR REPLACE VIEW requests_between AS
WITH marks AS
(
    SELECT partition, owner, groupArray((bitNot(precedence), epoch)) AS seen
    FROM markers_rows FINAL
    GROUP BY partition, owner
)
SELECT
    crawl, lower(hex(r.id)) AS id,
    {{range columns "requests_rows" "crawl" "id" "precedence" "recorded_at"}}argMax({{.}}, p) AS {{.}}, {{end}}
    bitNot(max(precedence)) AS offset, argMax(recorded_at, p) AS recorded_at
FROM
(
    -- Of two dispatches of one id that are both valid the first counts, of either owner.
    SELECT *, precedence AS p
    FROM requests_rows FINAL
    WHERE id BETWEEN toFixedString(unhex({from:String}), 16) AND toFixedString(unhex({to:String}), 16)
) AS r
LEFT JOIN marks ON marks.partition = r.partition AND marks.owner = r.owner
WHERE NOT arrayExists(m -> m.1 < bitNot(r.precedence) AND m.2 > r.epoch, marks.seen)
GROUP BY crawl, r.id;

CREATE OR REPLACE VIEW requests AS
SELECT * FROM requests_between(from = '00000000000000000000000000000000', to = 'ffffffffffffffffffffffffffffffff');

CREATE OR REPLACE VIEW fetches AS
SELECT * EXCEPT (precedence, recorded_at) REPLACE (lower(hex(fetches_rows.id)) AS id), bitNot(precedence) AS offset, recorded_at
FROM fetches_rows FINAL;

-- The segments in S3 that hold pages, of all crawls.
CREATE OR REPLACE VIEW segments AS
SELECT object, groupUniqArray(crawl) AS crawls, count() AS pages, sum(object_length) AS bytes
FROM fetches_rows FINAL
WHERE object != ''
GROUP BY object;

CREATE OR REPLACE VIEW judgements AS
SELECT * EXCEPT (precedence, recorded_at) REPLACE (lower(hex(judgements_rows.id)) AS id), bitNot(precedence) AS offset, recorded_at
FROM judgements_rows FINAL;

-- The judgements of critics that are not used, one row a page and critic, with the judgement that is.
CREATE OR REPLACE VIEW shadows AS
SELECT
    crawl, lower(hex(judgements_rows.id)) AS id, url, marking, shadow.1 AS critic, shadow.2 AS relevance, shadow.3 AS tempered, shadow.4 AS calibrated,
    shadow.5 AS best_is_focus, shadow.6 AS failure, judgements_rows.critic AS used, judgements_rows.relevance AS used_relevance,
    judgements_rows.tempered AS used_tempered, judgements_rows.calibrated AS used_calibrated, judgements_rows.best_is_focus AS used_best_is_focus
FROM judgements_rows FINAL
ARRAY JOIN arrayZip(shadow_critics, shadow_relevances, shadow_tempered, shadow_calibrated, shadow_focus, shadow_failures) AS shadow;

-- Judgements that came after the crawl's own, one row a page and series: critic and focus.
CREATE OR REPLACE VIEW rejudgements AS
SELECT * EXCEPT (precedence, recorded_at) REPLACE (lower(hex(rejudgements_rows.request)) AS request), bitNot(precedence) AS offset, recorded_at
FROM rejudgements_rows FINAL;

-- Every record of link.found: verdicts, lists of seeds and asks for a replay.
CREATE OR REPLACE VIEW found AS
SELECT * EXCEPT (precedence, recorded_at) REPLACE (lower(hex(verdicts_rows.id)) AS id), bitNot(precedence) AS offset, recorded_at
FROM verdicts_rows FINAL;

CREATE OR REPLACE VIEW verdicts AS
SELECT * FROM found WHERE outcome NOT IN ('seeds', 'replay');

CREATE OR REPLACE VIEW links AS
SELECT * EXCEPT (precedence, recorded_at) REPLACE (lower(hex(links_rows.id)) AS id, lower(hex(links_rows.request)) AS request), bitNot(precedence) AS offset, recorded_at
FROM links_rows FINAL;

CREATE OR REPLACE VIEW leaps AS
SELECT * EXCEPT (boundary, precedence, recorded_at) REPLACE (lower(hex(leaps_rows.id)) AS id, lower(hex(leaps_rows.request)) AS request), bitNot(precedence) AS offset, recorded_at
FROM leaps_rows FINAL
WHERE NOT boundary;

-- The places that rankers which choose nothing gave a URL when it was dispatched, one row a request and ranker, with
-- that of the ranker that chose it. URLs to which no link led have none.
CREATE OR REPLACE VIEW ranker_shadows AS
SELECT
    crawl, lower(hex(leaps_rows.request)) AS request, any(shard) AS shard, any(leaps_rows.outcome) AS outcome, any(target) AS relevance,
    shadow.1 AS policy, any(shadow.2) AS dropped, any(shadow.3) AS tier, any(shadow.4) AS score, any(shadow.5) AS model,
    any(leaps_rows.policy) AS used, any(leaps_rows.score) AS used_score, any(leaps_rows.model) AS used_model
FROM leaps_rows FINAL
ARRAY JOIN arrayZip(shadow_policies, shadow_dropped, shadow_tiers, shadow_scores, shadow_models) AS shadow
WHERE NOT boundary
GROUP BY crawl, request, policy;

CREATE OR REPLACE VIEW boundaries AS
SELECT crawl, lower(hex(leaps_rows.id)) AS id, shard, pages, partition, bitNot(precedence) AS offset, recorded_at
FROM leaps_rows FINAL
WHERE boundary;

CREATE OR REPLACE VIEW models AS
SELECT * EXCEPT (precedence, recorded_at), bitNot(precedence) AS offset, recorded_at
FROM models_rows FINAL;

CREATE OR REPLACE VIEW hubs AS
SELECT * EXCEPT (precedence, recorded_at) REPLACE (lower(hex(hubs_rows.id)) AS id), bitNot(precedence) AS offset, recorded_at
FROM hubs_rows FINAL;

CREATE OR REPLACE VIEW controls AS
SELECT * EXCEPT (precedence, recorded_at), bitNot(precedence) AS offset, recorded_at
FROM controls_rows FINAL;

CREATE OR REPLACE VIEW statuses AS
SELECT * EXCEPT (precedence, recorded_at), bitNot(precedence) AS offset, recorded_at
FROM statuses_rows FINAL;

-- Times during which a shard could not use the network; until is the first status after it, or the last status that
-- there is.
CREATE OR REPLACE VIEW outages AS
SELECT crawl, shard, since, max(next) AS until, argMax(outage_cause, at) AS cause
FROM
(
    SELECT crawl, shard, at, outage_since AS since, outage_cause,
        leadInFrame(at, 1, at) OVER (PARTITION BY crawl, shard ORDER BY at, epoch ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS next
    FROM statuses
)
WHERE toUnixTimestamp64Milli(since) > 0
GROUP BY crawl, shard, since;

-- The state of a whole crawl at each status of one of its shards: the sums of the newest status of each.
CREATE OR REPLACE VIEW standings AS
SELECT
    crawl, at, shard, state, activity,
    toUInt64(sum(dispatched_more) OVER w) AS dispatched,
    toUInt64(sum(in_flight_more) OVER w) AS in_flight,
    toUInt64(sum(queued_more) OVER w) AS queued,
    toUInt64(sum(pages_more) OVER w) AS pages,
    sum(relevance_more) OVER w AS relevance,
    sum(tempered_more) OVER w AS tempered,
    toUInt64(sum(requests_more) OVER w) AS requests,
    toUInt64(sum(links_more) OVER w) AS links,
    toUInt64(sum(leaps_more) OVER w) AS leaps,
    toUInt64(sum(trained_more) OVER w) AS trained,
    toUInt64(sum(duplicates_more) OVER w) AS duplicates
FROM
(
    SELECT
        crawl, shard, epoch, at, state, activity,
        toInt64(dispatched) - lagInFrame(toInt64(dispatched)) OVER s AS dispatched_more,
        toInt64(in_flight) - lagInFrame(toInt64(in_flight)) OVER s AS in_flight_more,
        toInt64(queued) - lagInFrame(toInt64(queued)) OVER s AS queued_more,
        toInt64(pages) - lagInFrame(toInt64(pages)) OVER s AS pages_more,
        toFloat64(relevance) - lagInFrame(toFloat64(relevance)) OVER s AS relevance_more,
        toFloat64(tempered) - lagInFrame(toFloat64(tempered)) OVER s AS tempered_more,
        toInt64(requests) - lagInFrame(toInt64(requests)) OVER s AS requests_more,
        toInt64(links) - lagInFrame(toInt64(links)) OVER s AS links_more,
        toInt64(leaps) - lagInFrame(toInt64(leaps)) OVER s AS leaps_more,
        toInt64(trained) - lagInFrame(toInt64(trained)) OVER s AS trained_more,
        toInt64(duplicates) - lagInFrame(toInt64(duplicates)) OVER s AS duplicates_more
    FROM statuses
    WINDOW s AS (PARTITION BY crawl, shard ORDER BY at, epoch ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WINDOW w AS (PARTITION BY crawl ORDER BY at, shard, epoch ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW);

-- What each arm of a mixture did between two statuses of a shard. dispatched is the number of requests that all arms of the crawl had chosen by
-- then. An arm that counts less than before was reset.
CREATE OR REPLACE VIEW arms AS
SELECT
    crawl, shard, at, policy, chosen, credited, reward,
    sum(chosen) OVER (PARTITION BY crawl ORDER BY at, shard, epoch, policy ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS dispatched
FROM
(
    SELECT
        crawl, shard, epoch, at, policy,
        if(arm_chosen < lagInFrame(arm_chosen) OVER s, arm_chosen, toUInt64(arm_chosen - lagInFrame(arm_chosen) OVER s)) AS chosen,
        if(arm_credited < lagInFrame(arm_credited) OVER s, arm_credited, toUInt64(arm_credited - lagInFrame(arm_credited) OVER s)) AS credited,
        if(arm_credited < lagInFrame(arm_credited) OVER s, arm_reward, arm_reward - lagInFrame(arm_reward) OVER s) AS reward
    FROM (SELECT crawl, shard, epoch, at, policy, arm_chosen, arm_credited, arm_reward FROM statuses ARRAY JOIN arms AS policy, arm_chosen, arm_credited, arm_reward)
    WINDOW s AS (PARTITION BY crawl, shard, policy ORDER BY at, epoch ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
);

CREATE OR REPLACE VIEW letters AS
SELECT * EXCEPT (precedence, recorded_at), bitNot(precedence) AS offset, recorded_at
FROM letters_rows FINAL
-- A record without a stage, about one of dead.letter, drops the letter at that offset (forager dead drop).
WHERE stage != '' AND offset NOT IN (SELECT of_offset FROM letters_rows WHERE stage = '' AND topic = 'dead.letter');

-- One row for each request with all that is known of it. outcome is the final one; empty = no
-- verdict yet. applied orders the verdicts of a shard: the unit of time of a crawl is the pages
-- delivered, counted in this order.
CREATE OR REPLACE VIEW pages AS
SELECT
    r.crawl AS crawl, r.id AS id, r.shard AS shard, r.ordinal AS ordinal, r.url AS url, r.host AS host, r.attempt AS attempt,
    v.outcome AS outcome, v.status AS status, v.detail AS detail, v.redirect AS redirect,
    v.relevance AS relevance, v.tempered AS tempered, v.best_is_focus AS best_is_focus, v.links AS links, v.backlink_queries AS backlink_queries, v.cut AS cut,
    v.offset AS applied, v.recorded_at AS applied_at,
    r.depth AS depth, r.via AS via, r.hops AS hops, r.score AS score, r.tier AS tier, r.policy AS policy, r.model AS model,
    r.dispatched_at AS dispatched_at, f.fetched_at AS fetched_at, f.duration_ms AS duration_ms,
    f.outcome AS fetch_outcome, f.content_type AS content_type, f.digest AS digest, f.object AS object,
    f.object_offset AS object_offset, f.object_length AS object_length, f.size AS size, f.truncated AS truncated,
    j.topics AS topics, j.posteriors AS posteriors, j.critic AS critic, j.title AS title, j.description AS description,
    j.language AS language, j.leaves AS leaves, j.tokens AS tokens, v.fingerprint AS fingerprint
FROM requests AS r
LEFT JOIN fetches AS f ON f.crawl = r.crawl AND f.id = r.id
LEFT JOIN judgements AS j ON j.crawl = r.crawl AND j.id = r.id
LEFT JOIN verdicts AS v ON v.crawl = r.crawl AND v.id = r.id;

-- How many records there are of a crawl in each topic, and the XOR of their ids: the same numbers as
-- prioritize writes into crawl.status (spans). page.judged holds the bytes of page.parsed, so both
-- are counted by its rows. (A FixedString made a String would lose zeros at its end.)
CREATE OR REPLACE VIEW books AS
SELECT
    crawl, topic, count() AS records,
    lower(concat(
        leftPad(hex(groupBitXor(reinterpretAsUInt64(reverse(substring(raw, 1, 8))))), 16, '0'),
        leftPad(hex(groupBitXor(reinterpretAsUInt64(reverse(substring(raw, 9, 8))))), 16, '0'))) AS ids
FROM
(
    SELECT crawl, 'fetch.requested' AS topic, toFixedString(unhex(id), 16) AS raw FROM requests
    UNION ALL
    SELECT crawl, 'page.fetched' AS topic, id AS raw FROM fetches_rows FINAL
    UNION ALL
    SELECT crawl, arrayJoin(['page.parsed', 'page.judged']) AS topic, id AS raw FROM judgements_rows FINAL
    UNION ALL
    SELECT crawl, 'link.found' AS topic, id AS raw FROM verdicts_rows FINAL
    UNION ALL
    SELECT crawl, 'leap.settled' AS topic, id AS raw FROM leaps_rows FINAL
)
GROUP BY crawl, topic;

-- Sums of crawls, which load-clickhouse computes again as rows come (docs/decisions/0532). Those of a revision are complete
-- once it has its total. They are derived, so the table can be made again with the views.
CREATE OR REPLACE TABLE sums_rows
(
    breakdown LowCardinality(String),
    crawl LowCardinality(String),
    revision UInt64,
    key String CODEC(ZSTD(1)),
    requests UInt64,
    delivered UInt64,
    targets UInt64,
    relevance Float64,
    bytes UInt64,
    leaps UInt64,
    leaps_delivered UInt64,
    leaps_relevance Float64,
    as_of DateTime64(3, 'UTC'),
    rows UInt64
)
ENGINE = MergeTree
ORDER BY (breakdown, crawl, revision, key)
COMMENT 'Sums of crawls, also of passes that did not end.';

-- The newest sums of each crawl, one row a breakdown (total, minute, host, topic, depth, policy, model, outcome) and key: requests with a
-- verdict, pages delivered, those with R of 0.5 or more and the sum of their R; bytes fetched; leaps settled, those to a page delivered, and the
-- sum of its R. They are of the first rows rows of the crawl's tables, duplicates included, and of the time as_of.
CREATE OR REPLACE VIEW sums AS
SELECT crawl, breakdown, key, requests, delivered, targets, relevance, bytes, leaps, leaps_delivered, leaps_relevance, as_of, rows
FROM sums_rows
WHERE (crawl, revision) IN (SELECT crawl, argMax(revision, as_of) FROM sums_rows WHERE breakdown = 'total' GROUP BY crawl);
