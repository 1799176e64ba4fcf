# make test     everything CI runs (about 10 minutes on 2 cores once modules are downloaded)
# make test-long, soak, bench, fuzz, lint: see each target. Everything a test needs is installed by `make deps`.
GO      ?= go
GOTEST  ?= $(GO) test -vet=off -timeout 40m
DB       = ./internal/testkit/corpus ./internal/pgmeta/... ./internal/testkit/pgtest/... ./internal/backend/... ./sensitivity/prooftest
RACE     = ./proxy/... ./budget/ledger/... ./internal/engine/flow ./internal/engine/server ./mlext/data
RACE_IN  = internal/engine internal/engine/session internal/engine/stage internal/engine/model internal/engine/watch internal/console

.PHONY: all help test test-unit test-db test-engine test-race test-race-engine test-cmd test-long test-attacker test-clients test-citus console test-console bench-console corpus deploy-check release bench bench-compare bench-accuracy bench-honesty bench-budgets bench-train fuzz lint deps build vet

# The same as build.
all: build

# The targets, each with the comment above it.
help:
	@awk '/^#/ { said = substr($$0, 3); next } /[?]=/ { next } /^[a-z][a-z0-9-]*( [a-z0-9-]+)*:/ { split($$0, name, ":"); printf "make %-28s %s\n", name[1], said } { said = "" }' Makefile

# The binary bin/dpsql.
build:
	$(GO) build -o bin/dpsql ./cmd/dpsql

# PostgreSQL, psql and psycopg2 from Debian, only what is missing.
deps:
	@sh .ci/deps.sh

# Property tests draw the same cases in every run of CI; test-long and fuzz draw new ones. The collector runs a quarter as often as it
# does by default: in some tests of the engine it takes a third of the time.
test test-unit test-db test-engine test-race test-race-engine test-cmd vet: export RAPID_SEED ?= 20261121
test test-unit test-db test-engine test-race test-race-engine test-cmd vet: export GOGC ?= 400

# Two parts at a time. The engine's tests are the longest part, two processes: they start first, and the others run beside them.
# Everything that CI runs.
test: deps vet
	$(MAKE) --jobs=2 --output-sync=target test-engine test-cmd test-race test-unit test-db

# go vet of all packages.
vet:
	$(GO) vet ./...

# Packages without a database: whatever is in no other part.
test-unit:
	$(GOTEST) $$($(GO) list ./... | grep -vxF "$$($(GO) list $(DB) $(RACE) ./internal/engine/... ./cmd/...)")

# Packages that need PostgreSQL.
test-db:
	$(GOTEST) $(DB)

# What answers statements, and its proofs: internal/engine and the packages below it.
test-engine:
	$(GOTEST) ./internal/engine/...

# Packages that start goroutines are in RACE, whole, or in RACE_IN: there the tests of a file that starts one, or says "The race detector
# runs this file.", run under the race detector, too (TestRaced of internal/rooms compares). The others would take three times as long
# there and find nothing. Those of RACE_IN need DuckDB, and building it for the detector takes minutes: they are a part of test-long.
RACED = grep -lP '^\s*go |\.Go\(|^\tt\.Parallel\(|^// The race detector runs this file\.' $(RACE_IN:%=%/*_test.go) | xargs sed -nE 's/^func (Test\w+)\(.*/\1/p' | paste -sd '|' -
# Tests of the ledger with one thread, in files that are built without the race detector alone: it makes them seven times as slow.
UNRACED = grep -l '^//go:build !race' budget/ledger/*_test.go | xargs sed -nE 's/^func (Test\w+)\(.*/\1/p' | paste -sd '|' -
# Connections, the ledger and whatever else starts goroutines and needs no DuckDB, under the race detector.
test-race:
	$(GOTEST) -race $(RACE)
	$(GOTEST) -run "^($$($(UNRACED)))$$" ./budget/ledger

# The engine, sessions, the console and TRAIN under the race detector (a part of test-long).
test-race-engine: deps
	$(GOTEST) -race -run "^($$($(RACED)))$$" $(RACE_IN:%=./%)

# The commands, against real servers.
test-cmd:
	$(GOTEST) ./cmd/...

# Hundreds of crashes, long statistics, the tree oracle of PostgreSQL's own parser, the engine under the race detector.
test-long: deps
	DPSQL_LONG=1 $(GO) test -timeout 80m ./...
	cd internal/testkit/oracle && $(GO) test -timeout 30m ./...
	$(MAKE) test-race-engine

# Searches for statements that tell of a person more than was charged; UPDATE=1 writes the table of docs/threat-model.md. A short run is a part of test-long.
test-attacker: deps
	DPSQL_ATTACKER=1 $(GO) test -count=1 -timeout 120m -run 'TestSearchingAttacker$$' -v ./internal/engine/prooftest -args $(if $(UPDATE),-update-attacker)

# An archive and a Debian package in dist/, of the version that CHANGELOG.md names first.
release: VERSION ?= $(shell sed -n 's/^\#\# \[\([0-9.]*\)\].*/\1/p' CHANGELOG.md | head -1)
release:
	GO=$(GO) sh .ci/release.sh $(VERSION)

# The release, and the Dockerfile's and the compose file's steps without docker (also a part of test-long).
deploy-check: deps
	DPSQL_LONG=1 $(GO) test -timeout 40m -run "DeployCheck|ReleaseCheck" -v ./deploy

# Drivers and tools of Debian, npm and Go, each run against one demo; UPDATE=1 writes what they print into docs/clients.md.
test-clients: deps
	@sh .ci/client-deps.sh
	DPSQL_CLIENTS=1 $(GO) test -count=1 -timeout 20m -run 'TestClients$$|TestCapturedMetadata$$|TestNewerClients$$' -v ./cmd/dpsql -args $(if $(UPDATE),-update-clients)
	DPSQL_CLIENTS=1 $(GO) test -count=1 -timeout 10m -run 'TestONNX$$|TestONNXArrays$$|TestImages$$' -v ./internal/engine/model
	$(GO) test -count=1 -run 'TestClientsDoc$$' ./cmd/dpsql -args $(if $(UPDATE),-update-clients)

# The distributed backend: a Citus coordinator and two workers, built from ../shared/citus the first time (1 to 7 minutes).
test-citus: deps
	@sh .ci/citus-deps.sh
	DPSQL_CITUS=1 $(GO) test -count=1 -timeout 30m -v ./internal/testkit/citustest
	DPSQL_CITUS=1 $(GO) test -count=1 -timeout 10m -run 'TestCitusDoc$$' -v ./cmd/dpsql -args $(if $(UPDATE),-update-docs)

# The page of the console, built from internal/console/web/src into dist beside it.
console:
	cd internal/console/web && npm ci && npm run check && npm run build

# The console in Chromium, against dpsql demo, and whether its page is that of its sources; UPDATE=1 takes the pictures of docs/console.md.
test-console: deps
	@sh .ci/console-deps.sh
	rm -rf bin/dist && mkdir -p bin && cp -r internal/console/web/dist bin/dist
	$(MAKE) console
	diff -r bin/dist internal/console/web/dist
	cd internal/console/browser && $(GO) vet . && $(GO) test -count=1 -timeout 15m -v . $(if $(UPDATE),-args -update)

# 50 users of the console: memory of each, and a statement's time beside them.
bench-console:
	$(GO) test -run '^$$' -bench Users -benchtime 1x ./internal/console

# CORPUS=folder SCHEMA=name, or every corpus that is here (building PostgreSQL's own parser takes some minutes the first time). SCHEMA is
# a .sql file with DDL, demo, sakila, or a folder of testdata/corpus. VERBOSE=1 prints what is the same too.
# How statements are read, beside PostgreSQL.
corpus: deps
	cd internal/testkit/oracle && $(GO) run ./corpus -corpus '$(if $(CORPUS),$(abspath $(CORPUS)))' -schema '$(if $(filter %.sql,$(SCHEMA)),$(abspath $(SCHEMA)),$(SCHEMA))' $(if $(VERBOSE),-v)

# Ten minutes each of faults and abuse, of one server and of two over one ledger; the figures go to the log.
soak: deps
	DPSQL_SOAK=10m $(GO) test -count=1 -timeout 60m -run 'TestSoak|TestAbuseLatency' -v ./cmd/dpsql

# Figures of docs/benchmarks.md.
bench: deps
	$(GO) test -run '^$$' -bench . -benchtime 1s ./noise ./rewrite/pgsyntax ./internal/testkit/corpus ./budget/... ./mlext/...
	$(GO) test -run '^$$' -bench . -benchtime 5x ./cmd/dpsql
	$(GO) test -run '^$$' -bench Captured -benchtime 2x ./internal/pgmeta
	$(GO) test -run '^$$' -bench Plan -benchtime 20x ./internal/testkit/bench/tpc
	$(GO) test -run '^$$' -bench TrainStream -benchtime 1x ./internal/engine/model
	$(GO) test -run '^$$' -bench TPCH -benchtime 1x -timeout 30m ./internal/testkit/bench/tpc

# The same figures at a commit and here, in turns: BASE=commit [COUNT=6] [ONLY=noise].
bench-compare: deps
	GO='$(GO)' ONLY='$(ONLY)' internal/testkit/bench/compare.sh '$(BASE)' $(COUNT)

# docs/accuracy.md and docs/bounds.md: about 15 minutes on 2 cores, once TPC-H at SF 1 and 2 is in the cache.
bench-accuracy: deps
	$(GO) run ./internal/testkit/bench/accuracy

# How often dp_low to dp_high holds the plain answer: a section of docs/accuracy.md, and docs/honesty/. About an hour on 2 cores.
bench-honesty: deps
	$(GO) run ./internal/testkit/bench/honesty

# How many statements a budget holds, and how exact a cube is; writes tables of docs/budget.md and docs/cubes.md. Some seconds.
bench-budgets:
	$(GO) run ./internal/testkit/bench/budgets

# Trainings on public data, with defaults alone; writes the table of docs/training.md.
bench-train:
	$(GO) run ./internal/testkit/bench/train -update
	$(GO) run ./internal/testkit/bench/train -synthetic

# Each fuzz target for a while.
fuzz:
	$(GO) test -run '^$$' -fuzz FuzzParse -fuzztime 60s ./rewrite/pgsyntax
	$(GO) test -run '^$$' -fuzz FuzzLex -fuzztime 60s ./rewrite/pgsyntax
	$(GO) test -run '^$$' -fuzz FuzzBind -fuzztime 60s ./rewrite/plan
	$(GO) test -run '^$$' -fuzz FuzzParse -fuzztime 60s ./internal/policy
	$(GO) test -run '^$$' -fuzz FuzzParseTree -fuzztime 60s ./internal/backend/postgres
	$(GO) test -run '^$$' -fuzz FuzzMeta -fuzztime 60s ./internal/pgmeta
	$(GO) test -run '^$$' -fuzz FuzzSession -fuzztime 60s ./proxy
	$(GO) test -run '^$$' -fuzz FuzzStartup -fuzztime 60s ./proxy
	$(GO) test -run '^$$' -fuzz FuzzHear -fuzztime 60s ./proxy
	$(GO) test -run '^$$' -fuzz FuzzDecode -fuzztime 60s ./internal/base/sqltype
	$(GO) test -run '^$$' -fuzz FuzzValue -fuzztime 60s ./internal/base/sqltype

# golangci-lint, and the limits of .golangci.yml.
lint:
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run ./...
