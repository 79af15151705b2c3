CREATE TABLE IF NOT EXISTS requests_rows
(
    crawl LowCardinality(String),
    epoch UInt64 COMMENT 'of the owner that dispatched it',
    id FixedString(16),
    shard UInt32,
    owner UInt32 COMMENT 'partition of link.found whose owner it was',
    url String CODEC(ZSTD(1)),
    host String CODEC(ZSTD(1)),
    attempt UInt32 COMMENT '1 for the first try of a URL',
    not_before DateTime64(3, 'UTC') COMMENT '1970 = at once',
    score Float64 COMMENT 'under the policy that chose it',
    tier UInt32,
    policy LowCardinality(String),
    model LowCardinality(String) COMMENT 'empty = none',
    depth UInt32 COMMENT 'hops from a seed',
    via String COMMENT 'page whose link decided the score; empty for a seed' CODEC(ZSTD(1)),
    hops UInt32 COMMENT 'redirects followed to come here',
    dispatched_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    ordinal UInt64 COMMENT 'of the dispatch within the shard, from 1',
    clock UInt64 COMMENT 'verdicts that the shard had applied',
    partition UInt32,
    precedence UInt64,
    recorded_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(precedence)
ORDER BY (crawl, owner, epoch, id)
COMMENT 'Records of fetch.requested: also void ones, which the view leaves out.';

CREATE TABLE IF NOT EXISTS markers_rows
(
    partition UInt32,
    owner UInt32,
    epoch UInt64,
    precedence UInt64,
    recorded_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(precedence)
ORDER BY (partition, owner, epoch)
COMMENT 'Epoch markers of fetch.requested: what an older owner wrote behind one is void.';

CREATE TABLE IF NOT EXISTS fetches_rows
(
    crawl LowCardinality(String),
    id FixedString(16),
    url String CODEC(ZSTD(1)),
    host String CODEC(ZSTD(1)),
    outcome LowCardinality(String),
    detail String COMMENT 'for people, where nothing was delivered' CODEC(ZSTD(1)),
    status UInt32 COMMENT 'of HTTP; 0 = no answer',
    redirect String CODEC(ZSTD(1)),
    not_before DateTime64(3, 'UTC') COMMENT '1970 = prioritize chooses',
    content_type LowCardinality(String),
    digest String COMMENT 'sha1: and base32 of the body as stored',
    object String COMMENT 'WARC segment in S3' CODEC(ZSTD(1)),
    object_offset UInt64,
    object_length UInt64 COMMENT 'of the gzip member, bytes',
    size UInt64 COMMENT 'of the body, bytes',
    truncated Bool,
    fetched_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    duration_ms UInt32,
    partition UInt32,
    precedence UInt64,
    recorded_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(precedence)
ORDER BY (crawl, id)
COMMENT 'Records of page.fetched.';

CREATE TABLE IF NOT EXISTS judgements_rows
(
    crawl LowCardinality(String),
    id FixedString(16),
    outcome LowCardinality(String),
    relevance Float64 COMMENT 'R: sum of the posteriors of the focus topics, raw',
    tempered Float64 COMMENT 'the same, log likelihood divided by max(1, length/100)',
    calibrated Float64 COMMENT 'the same, by curves fitted to held-out pages',
    topics Array(LowCardinality(String)) COMMENT 'best first, at most 5',
    posteriors Array(Float64) COMMENT 'tempered, of topics',
    best_is_focus Bool,
    critic LowCardinality(String) COMMENT 'the one that judged',
    known_tokens UInt64,
    marking UInt64 COMMENT 'revision of the control record (controls) that was followed',
    degraded LowCardinality(String) COMMENT 'why a fallback judged; empty = none did',
    shadow_critics Array(LowCardinality(String)) COMMENT 'critics that judged beside, not used',
    shadow_relevances Array(Float64) COMMENT 'theirs, as relevance; 0 where they failed',
    shadow_tempered Array(Float64),
    shadow_calibrated Array(Float64),
    shadow_focus Array(Bool) COMMENT 'theirs, as best_is_focus',
    shadow_failures Array(String) COMMENT 'why they said nothing; empty = they did',
    silent Map(LowCardinality(String), LowCardinality(String)) COMMENT 'guides and sources of backlinks that did not answer, and why',
    url String COMMENT 'of the page; empty where there is none' CODEC(ZSTD(1)),
    title String CODEC(ZSTD(1)),
    description String CODEC(ZSTD(1)),
    language LowCardinality(String),
    charset LowCardinality(String),
    canonical String CODEC(ZSTD(1)),
    fingerprint UInt64 COMMENT 'simhash',
    leaves UInt32,
    tokens UInt32,
    links UInt32,
    size UInt64 COMMENT 'of the decoded body, bytes',
    nofollow Bool,
    noindex Bool,
    cut Bool,
    tokenizer_only Bool,
    partition UInt32,
    precedence UInt64,
    recorded_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(precedence)
ORDER BY (crawl, id)
COMMENT 'Records of page.judged with what is worth counting of the page.';

CREATE TABLE IF NOT EXISTS verdicts_rows
(
    crawl LowCardinality(String),
    shard UInt32,
    id FixedString(16) COMMENT 'of the request; of a list of seeds, its own',
    url String CODEC(ZSTD(1)),
    outcome LowCardinality(String),
    detail String CODEC(ZSTD(1)),
    status UInt32,
    redirect String CODEC(ZSTD(1)),
    not_before DateTime64(3, 'UTC'),
    fetched_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    relevance Float64,
    tempered Float64,
    calibrated Float64,
    best_is_focus Bool,
    links UInt32,
    backlink_queries UInt32 COMMENT 'asked of the source of backlinks about the page, each charged as a request',
    fingerprint UInt64,
    cut Bool,
    partition UInt32,
    precedence UInt64,
    recorded_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(precedence)
ORDER BY (crawl, shard, id)
COMMENT 'Records of link.found as verdicts: what became of each request in the end.';

CREATE TABLE IF NOT EXISTS links_rows
(
    crawl LowCardinality(String),
    u String COMMENT 'page; empty for seeds' CODEC(ZSTD(1)),
    id FixedString(16) COMMENT 'of the leap (crawl, u, v)',
    shard UInt32,
    v String CODEC(ZSTD(1)),
    u_host String CODEC(ZSTD(1)),
    v_host String CODEC(ZSTD(1)),
    request FixedString(16) COMMENT 'of u, or the id of the list of seeds',
    position UInt32 COMMENT 'among the links of u, from 0',
    first_leaf UInt32,
    last_leaf UInt32,
    nofollow Bool,
    relevance Float64 COMMENT 'R(u), raw',
    tempered Float64,
    anchor Nullable(Float64) COMMENT 'R of the words of the link, those of its text and of its URL, raw; null = the critic was not asked',
    guidance Map(String, Float64) COMMENT 'scores by guides; those that failed are missing',
    found_at DateTime64(3, 'UTC') COMMENT 'when u was fetched' CODEC(Delta, ZSTD(1)),
    partition UInt32,
    precedence UInt64,
    recorded_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(precedence)
ORDER BY (crawl, u, id)
COMMENT 'Links (u, v) of link.found.';

CREATE TABLE IF NOT EXISTS leaps_rows
(
    crawl LowCardinality(String),
    id FixedString(16) COMMENT 'of the leap, or of the boundary',
    shard UInt32,
    u String CODEC(ZSTD(1)),
    v String CODEC(ZSTD(1)),
    outcome LowCardinality(String) COMMENT 'final, of v',
    target Float64 COMMENT 'R(v), raw; 0 unless delivered',
    target_tempered Float64,
    source Float64 COMMENT 'R(u), raw',
    source_tempered Float64,
    terms Array(String) COMMENT 'features: terms' CODEC(ZSTD(1)),
    offsets Array(Int16) COMMENT 'their DOM offsets; 127 = none' CODEC(ZSTD(1)),
    counts Array(UInt32) CODEC(ZSTD(1)),
    score Float64 COMMENT 'predicted, as of the dispatch of v',
    policy LowCardinality(String),
    model LowCardinality(String),
    trains Bool,
    request FixedString(16) COMMENT 'of v',
    pages UInt64 COMMENT 'delivered in the shard when it was settled',
    boundary Bool COMMENT 'no leap: a model trained through here is due',
    forward Bool COMMENT 'u was judged before v was dispatched',
    shadow_policies Array(LowCardinality(String)) COMMENT 'rankers that placed v beside, as of its dispatch; not used',
    shadow_dropped Array(Bool) COMMENT 'their gates let no link to v through',
    shadow_tiers Array(UInt32),
    shadow_scores Array(Float64) COMMENT 'theirs, as score',
    shadow_models Array(LowCardinality(String)),
    partition UInt32,
    precedence UInt64,
    recorded_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(precedence)
ORDER BY (crawl, id)
COMMENT 'Records of leap.settled.';

CREATE TABLE IF NOT EXISTS models_rows
(
    crawl LowCardinality(String) COMMENT 'empty for a critic',
    kind LowCardinality(String),
    model String COMMENT 'version: the id',
    object String,
    digest String,
    size UInt64,
    trained_through Int64 COMMENT 'offset in leap.settled',
    pages UInt64,
    leaps UInt64,
    measures Map(LowCardinality(String), Float64),
    created_at DateTime64(3, 'UTC'),
    partition UInt32,
    precedence UInt64,
    recorded_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(precedence)
ORDER BY (crawl, kind, model)
COMMENT 'Records of model.published that the loader saw before compaction.';

CREATE TABLE IF NOT EXISTS hubs_rows
(
    crawl LowCardinality(String),
    id FixedString(16) COMMENT 'the ranking',
    kind LowCardinality(String) COMMENT 'hub or authority',
    place UInt16 COMMENT 'from 1',
    shard UInt32,
    pages UInt64 COMMENT 'delivered in the shard when it was ranked',
    url String,
    host LowCardinality(String),
    score Float64,
    relevance Float64 COMMENT 'R(u)',
    marked Bool COMMENT 'what it links to was raised, and it is worth another visit',
    nodes UInt64 COMMENT 'pages that were ranked',
    edges UInt64 COMMENT 'links between two of them on different sites',
    raised UInt32 COMMENT 'unvisited URLs that marked hubs link to',
    partition UInt32,
    precedence UInt64,
    recorded_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(precedence)
ORDER BY (crawl, id, kind, place)
COMMENT 'Records of hub.ranked that the loader saw before compaction, a row a page.';

CREATE TABLE IF NOT EXISTS controls_rows
(
    crawl LowCardinality(String),
    revision UInt64,
    state LowCardinality(String),
    focus Array(String),
    bad Array(String) COMMENT 'topics below focus topics that do not count',
    weights Map(String, Float64) COMMENT 'of focus topics; 1 where there is none',
    critic String,
    shadows Array(String) COMMENT 'critics that judge beside, not used',
    pages UInt64 COMMENT 'budget; 0 = no limit',
    requests UInt64 COMMENT 'budget; 0 = no limit',
    policies Array(String),
    rankers Array(LowCardinality(String)),
    prior String,
    created_at DateTime64(3, 'UTC'),
    control String COMMENT 'the whole record as JSON' CODEC(ZSTD(1)),
    partition UInt32,
    precedence UInt64,
    recorded_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(precedence)
ORDER BY (crawl, revision)
COMMENT 'Records of crawl.control that the loader saw before compaction.';

CREATE TABLE IF NOT EXISTS statuses_rows
(
    crawl LowCardinality(String),
    shard UInt32,
    epoch UInt64,
    at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    state LowCardinality(String),
    end_reason LowCardinality(String),
    activity LowCardinality(String),
    dispatched UInt64,
    in_flight UInt64,
    queued UInt64,
    pages UInt64,
    relevance Float64 COMMENT 'sum over pages, raw',
    tempered Float64,
    requests UInt64 COMMENT 'charged',
    pages_left UInt64,
    requests_left UInt64,
    links UInt64,
    leaps UInt64,
    trained UInt64,
    model LowCardinality(String),
    duplicates UInt64,
    latency_p50_ms UInt32 COMMENT 'dispatch to verdict',
    latency_p95_ms UInt32,
    window UInt32,
    outcomes Map(LowCardinality(String), UInt64),
    refused Map(LowCardinality(String), UInt64),
    partition UInt32,
    precedence UInt64,
    recorded_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(precedence)
ORDER BY (crawl, shard, epoch, at)
COMMENT 'Records of crawl.status that the loader saw before compaction: a time series.';

CREATE TABLE IF NOT EXISTS letters_rows
(
    stage LowCardinality(String),
    topic LowCardinality(String),
    of_partition UInt32 COMMENT 'of the record that failed',
    of_offset UInt64,
    crawl LowCardinality(String),
    url String CODEC(ZSTD(1)),
    error String CODEC(ZSTD(1)),
    tries UInt32,
    at DateTime64(3, 'UTC'),
    partition UInt32,
    precedence UInt64,
    recorded_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(precedence)
ORDER BY (stage, topic, of_partition, of_offset)
COMMENT 'Records of dead.letter, without the bytes.';
