# Forager. `make demo` and `make test` need Go and npm, nothing else; they install what they use.
#   make demo [WEB=file.warc.gz TASKS=tasks.json.gz TASK=name]   a whole crawl, twice, with a report
#   make test          every test that needs no data and no other program
#   make endurance     tests of faults, which wait for minutes: a disk that gets full, stages killed, services away, a hostile web; with FORAGER_PREVIOUS, a folder
#                      of programs of an earlier version, stages of that version are replaced one by one under load
#   make endurance MINUTES=10   processes killed at random, parts away in turns, crawls started, paused and deleted, on a hostile web
#   make test-webs     tests on frozen webs: FORAGER_WEBS, FORAGER_CASES, FORAGER_TAXONOMY name the folders
#   make test-kafka    the stream runtime and a crawl on a real Apache Kafka (Java 17, Maven)
#   make test-deploy   image, compose file, Helm chart, alerts and dashboard: rendered and validated (docs/deployment.md)
#   make test-browser  every view of the monitor in a Chromium, which npm brings; screenshots in build/browser
#   make test-oracles  checks against programs that were not written here (Python 3.11)
#   make test-race     the concurrent packages under the race detector (a C compiler)
#   make explore [SECONDS=120 FROM=n PACKAGES=./internal/frontier/shards]   the property tests and simulations for so long with other draws
#                      than those of the targets above, which draw the same every time; a failure prints how to repeat it
#   make bench [WEB=file.warc.gz TASK=name CORES=2]   whole crawls at full speed: CPU, memory and latency of every
#                      process; then benchmarks of packages, each as a ratio to a floor measured in the same run
#   make soak [PAGES=200000 CORES=2 SMALL=1]   a long crawl: rate, memory, open files and goroutines by tenths of its pages;
#                      SMALL: with caches of the frontier that are full within the first tenth
#   make bench-frontier [URLS=10000000 | HOSTS=1000000] [RANKER=mixture] [MEMORY=160]   what a URL costs in a frontier of a tenth of so many,
#                      of all, and between, on disk, with so many MiB of memory for the frontier; re-scoring, a switch of
#                      policies; peak memory (10 GB in TMPDIR, half an hour)
#   make bench-import [BYTES=5000000000]   a made-up dump of a directory, imported: speed and peak memory (12 GB in TMPDIR)
#   make bench-critic  a critic compared with scikit-learn: training and scoring from raw text (FORAGER_TAXONOMY, Python 3.11)
#   make bench-others [ROUNDS=3 CORES=2]   what a page costs bare net/http, Scrapy with a naive Bayes, and a crawl, in turns
#                      (FORAGER_WEBS, Python 3.11; half an hour)
#   make papers [STUDY=build/all-rankers]   docs/papers.md: what four papers found, and what is found here (FORAGER_WEBS); the file in
#                      the tree is made so, behind make rankers
#   make rankers [DRAWS=5]   every ranker on every task (docs/all-rankers.yaml), in build/all-rankers; goes on after a stop
#   make check         gofmt, go vet, lint, generated code up to date
#   make lint          staticcheck, errcheck, revive and deadcode (infra/tools)
#   make size          lines of product, laboratory and tests, and the largest packages of each
#   make build         the programs, in build/bin; make deps brings only what they need besides Go's modules
#   make generate      the Go code of schemas/*.proto, and the rows made of records
#   make clean         removes build/: programs, data of the embedded parts, results

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
export CGO_ENABLED ?= 0
export GOFLAGS += -buildvcs=false -vet=off # go vet is part of make check
# Tests and demos have pipeline files of their own, and leave the deployment of the caller alone.
unexport FORAGER_CONFIG

# What property tests draw follows from this seed: the same in every run unless another is named; 0 is one by chance. The go
# command does not see that a test read it, so that results in its cache are those of the seed here.
SEED := 1
export RAPID_SEED ?= $(SEED)

BIN     := build/bin
STAGES  := $(notdir $(wildcard stages/*))
ENGINE  := node_modules/@chdb/lib-linux-x64-gnu/libchdb.so
TAGS    := webs,kafka,endurance,browser
# A run without a single test is a failure.
GOTEST  := $(BIN)/gotestsum --format-hide-empty-pkg --post-run-command 'sh -c "test $$TESTS_TOTAL -gt 0"' --format pkgname
FRESH   := $(if $(filter-out $(SEED),$(RAPID_SEED)),-count=1)
# A package that hangs is ended after this time, of which a machine three times as slow needs half.
LIMIT   := -timeout 60m

.PHONY: all deps build demo test endurance test-webs test-kafka test-deploy test-browser test-oracles test-race explore bench bench-frontier bench-critic bench-others bench-import soak papers rankers check lint size generate clean

all: build

# The ClickHouse engine comes by npm, everything else by Go.
deps: $(ENGINE)
$(ENGINE): package-lock.json
	@case "$$(uname -s)-$$(uname -m)" in Linux-x86_64) ;; *) \
	  echo "the embedded ClickHouse engine runs on Linux x64 (glibc) only; elsewhere set clickhouse.url in pipeline.yaml to a server of your own" >&2; exit 1;; esac
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js" >&2; exit 1; }
	npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

build: deps
	@mkdir -p $(BIN)
	go build -o $(BIN)/ $(addprefix ./stages/,$(STAGES)) ./infra/local ./cmd/forager ./cmd/forager-lab

demo: build
	$(BIN)/$(if $(WEB),forager-lab,forager) demo --out build/demo $(if $(WEB),--web '$(WEB)') $(if $(TASKS),--tasks '$(TASKS)') $(if $(TASK),--task '$(TASK)')

# One package more than there are processors at a time: many tests wait for a broker, or for a time-out.
test: build $(BIN)/gotestsum
	$(GOTEST) -- $(FRESH) $(LIMIT) -p $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )) ./...

endurance: build $(BIN)/gotestsum
	$(if $(MINUTES),FORAGER_MINUTES='$(MINUTES)') $(GOTEST) $(if $(MINUTES),--format standard-verbose) -- $(if $(MINUTES),-count=1 -timeout 24h -run EnduranceKills,$(FRESH) $(LIMIT) -run Endurance -skip EnduranceKills) -tags endurance ./cmd/forager/e2e

test-webs: build $(BIN)/gotestsum
	@: "$${FORAGER_WEBS:?names the folder of frozen webs}" "$${FORAGER_CASES:?names the folder of public cases}" "$${FORAGER_TAXONOMY:?names the folder of the taxonomy}"
	$(GOTEST) --format standard-verbose -- $(FRESH) -timeout 40m -tags webs -run Webs ./internal/lab/experiment ./... # the longest begins first

test-kafka: build $(BIN)/gotestsum
	infra/kafka/with-kafka.sh $(GOTEST) -- -timeout 5m -tags kafka -count=1 -p 1 ./internal/stream/...
	infra/kafka/with-kafka.sh $(GOTEST) -- -timeout 5m -tags kafka -count=1 -run TestKafkaCarries ./cmd/forager/e2e
	infra/kafka/with-kafka.sh $(GOTEST) -- -timeout 5m -tags kafka -count=1 -run TestKafkaTwo ./cmd/forager/e2e

# A module of its own; the files that it reads are outside, where the go command does not see their changes.
test-deploy: build $(BIN)/gotestsum
	cd infra/deploytest && $(CURDIR)/$(GOTEST) -- -count=1 -timeout 10m ./...

test-browser: build $(BIN)/gotestsum
	infra/browser/unpack.sh
	$(GOTEST) -- $(FRESH) -timeout 15m -tags browser -count=1 -run TestBrowser ./cmd/forager/e2e

test-oracles: build
	@: "$${FORAGER_WEBS:?names the folder of frozen webs}" "$${FORAGER_CASES:?names the folder of public cases}" "$${FORAGER_TAXONOMY:?names the folder of the taxonomy}"
	infra/oracles/run.sh

bench-critic: deps
	@: "$${FORAGER_TAXONOMY:?names the folder of the taxonomy}"
	infra/oracles/run.sh speed

bench-others: build
	@: "$${FORAGER_WEBS:?names the folder of frozen webs}"
	ROUNDS=$(ROUNDS) CORES=$(CORES) infra/oracles/run.sh others

test-race: deps $(BIN)/gotestsum
	CGO_ENABLED=1 $(GOTEST) -- $(FRESH) -race -short -timeout 15m ./internal/stream/... ./internal/frontier/... ./stages/...

explore: deps
	go run ./infra/explore $(if $(SECONDS),-seconds '$(SECONDS)') $(if $(FROM),-seed '$(FROM)') $(PACKAGES)

# The frozen web is that of FORAGER_WEBS where that is set.
bench: WEB ?= $(addsuffix /webkb.warc.gz,$(FORAGER_WEBS))
bench: build
	$(BIN)/forager-lab bench --out build/bench --profiles $(if $(WEB),--web '$(WEB)') $(if $(TASKS),--tasks '$(TASKS)') $(if $(TASK),--task '$(TASK)') $(if $(CORES),--cores '$(CORES)')
	go test -run '^$$' -bench . -benchmem ./...

SMALLER := --set stages.prioritize.frontier_bytes=33554432 --set stages.prioritize.cache_bytes=16777216
soak: build
	$(BIN)/forager-lab soak --out build/soak $(if $(PAGES),--pages '$(PAGES)') $(if $(CORES),--cores '$(CORES)') $(if $(SMALL),$(SMALLER))

bench-import:
	FORAGER_BENCH_DUMP=$(or $(BYTES),5000000000) go test -run '^$$' -bench Import -benchtime 1x -timeout 2h ./internal/classify/examples

bench-frontier:
	FORAGER_BENCH_URLS=$(or $(URLS),10000000) FORAGER_BENCH_HOSTS=$(HOSTS) FORAGER_BENCH_RANKER=$(RANKER) FORAGER_BENCH_MEMORY=$(MEMORY) go test -run '^$$' -bench Frontier -benchtime 1x -timeout 12h -v ./stages/prioritize

# STUDY names the folder of a finished study, whose tables are added: that of make rankers, if it was run.
papers: STUDY ?= $(wildcard build/all-rankers)
papers: build
	@: "$${FORAGER_WEBS:?names the folder of frozen webs}"
	$(BIN)/forager-lab experiment papers '$(FORAGER_WEBS)/tasks.json.gz' '$(FORAGER_WEBS)/tasks-more.json.gz' $(if $(STUDY),--study '$(STUDY)') -o docs/papers.md

# What was run before is not run again.
rankers: build
	@: "$${FORAGER_WEBS:?names the folder of frozen webs}"
	$(BIN)/forager-lab experiment run docs/all-rankers.yaml --tasks '$(FORAGER_WEBS)/tasks.json.gz' --tasks '$(FORAGER_WEBS)/tasks-more.json.gz' $(if $(DRAWS),--draws '$(DRAWS)') -o build/all-rankers

generate:
	cd schemas && go run ./generate

check:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these" >&2; exit 1; }
	go vet -tags $(TAGS) ./...
	$(MAKE) lint
	cd schemas && go run ./generate && git diff --exit-code -- . ../internal/platform

lint: $(BIN)/lint $(BIN)/revive $(BIN)/deadcode
	go vet -vettool=$(abspath $(BIN))/lint -tags $(TAGS) ./...
	$(BIN)/revive -config infra/tools/lint/revive.toml $(addsuffix /...,./cmd ./infra ./internal ./schemas ./stages)
	$(BIN)/revive -config infra/tools/lint/revive-cmd.toml ./cmd/...
	@dead=$$($(BIN)/deadcode -test -tags $(TAGS) ./...); test -z "$$dead" || { echo "$$dead"; echo "no program and no test calls these functions: remove them" >&2; exit 1; }

$(BIN)/lint: infra/tools/go.mod $(wildcard infra/tools/lint/*.go)
	go build -C infra/tools -o $(abspath $@) ./lint
$(BIN)/revive: infra/tools/go.mod
	go build -C infra/tools -o $(abspath $@) github.com/mgechev/revive
$(BIN)/deadcode: infra/tools/go.mod
	go build -C infra/tools -o $(abspath $@) golang.org/x/tools/cmd/deadcode
$(BIN)/gotestsum: infra/tools/go.mod
	go build -C infra/tools -o $(abspath $@) gotest.tools/gotestsum

size:
	@go test -count=1 -v -run TreeStaysSmall ./internal/rules | sed -n "s/^ *size_test.go:[0-9]*: //p"

clean:
	rm -rf build
