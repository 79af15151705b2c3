-- Questions to ask of the archive, read where it lies: Parquet files in the object store, which need
-- no tables and outlive the topics. {archive:String} is the address of its folder, as in
-- http://127.0.0.1:19000/forager/archive/v1; {access_key:String} and {secret_key:String} open it.
-- forager query --example NAME fills them in.
--
-- After a crash two files may hold the same record, under the same offset: LIMIT 1 BY partition,
-- offset takes it once. A record that was sent twice has two offsets and one id, of which the first
-- counts, as everywhere: ORDER BY offset LIMIT 1 BY id takes that one, and covers both.

-- archived: records of each topic and partition, and how many offsets are missing between the first and the last
SELECT topic, partition, min(offset) AS first, max(offset) AS last, uniqExact(offset) AS records, last - first + 1 - records AS missing, count() - records AS twice, countIf(problem != '') AS undecodable
FROM s3({archive:String} || '/{page.judged,link.found,leap.settled}/*/*.parquet', {access_key:String}, {secret_key:String}, 'Parquet')
GROUP BY topic, partition
ORDER BY topic, partition;

-- archived-pages: the most relevant pages of a crawl with their leading topics
SELECT round(relevance, 4) AS relevance, url, title, language, arrayMap(t -> t.topic, topics) AS topics
FROM s3({archive:String} || '/page.judged/*/*.parquet', {access_key:String}, {secret_key:String}, 'Parquet')
WHERE crawl = {crawl:String} AND outcome = 'delivered'
ORDER BY relevance DESC, url
LIMIT 1 BY url
LIMIT 20;

-- archived-hosts: hosts by the relevance that a crawl found there, and how far its links led beyond them
SELECT host, count() AS pages, round(avg(relevance), 3) AS mean, sum(length(links)) AS found, round(avg(arrayCount(l -> domain(l.url) != domain(url), links)), 1) AS outward
FROM
(
    SELECT host, url, relevance, links
    FROM s3({archive:String} || '/link.found/*/*.parquet', {access_key:String}, {secret_key:String}, 'Parquet')
    WHERE crawl = {crawl:String} AND outcome = 'delivered'
    LIMIT 1 BY partition, offset
)
GROUP BY host
ORDER BY pages * mean DESC, host
LIMIT 20;

-- archived-features: terms near links, by how much more relevant the targets were than those of all leaps
WITH
    leaps AS
    (
        SELECT target, features
        FROM s3({archive:String} || '/leap.settled/*/*.parquet', {access_key:String}, {secret_key:String}, 'Parquet')
        WHERE crawl = {crawl:String} AND trains
        ORDER BY offset
        LIMIT 1 BY id
    ),
    (SELECT avg(target) FROM leaps) AS mean
SELECT f.term AS term, f.offset AS dom_offset, count() AS leaps, round(avg(target) - mean, 3) AS lift
FROM leaps
ARRAY JOIN features AS f
GROUP BY term, dom_offset
HAVING leaps >= 5
ORDER BY abs(lift) * sqrt(leaps) DESC, term, dom_offset
LIMIT 50;

-- archived-promises: what each model of a crawl promised at dispatch against what came of it
SELECT model, count() AS leaps, round(avg(score), 3) AS promised, round(avg(target), 3) AS kept, round(corr(score, target), 3) AS correlation
FROM
(
    SELECT model, score, target
    FROM s3({archive:String} || '/leap.settled/*/*.parquet', {access_key:String}, {secret_key:String}, 'Parquet')
    WHERE crawl = {crawl:String} AND forward AND outcome = 'delivered'
    ORDER BY offset
    LIMIT 1 BY id
)
GROUP BY model
ORDER BY min(splitByChar('-', splitByChar('/', model)[-1])[1]) = '', toUInt64OrZero(splitByChar('-', splitByChar('/', model)[-1])[1]);
