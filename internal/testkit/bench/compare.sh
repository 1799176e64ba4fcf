#!/bin/sh
# compare.sh BASE [COUNT]: the benchmarks of docs/benchmarks.md at a commit and in this tree, in turns on the same machine, and benchstat's table of both.
# A package that the commit does not have is left out. ONLY is a regular expression of the packages that are measured.
set -eu
base=${1:?name a commit: make bench-compare BASE=HEAD~1}
count=${2:-6}
go=${GO:-go}
new=$(git rev-parse --show-toplevel)
tmp=$(mktemp -d)
trap 'git -C "$new" worktree remove --force "$tmp/tree" >/dev/null 2>&1 || true; rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
git -C "$new" worktree add --quiet --detach "$tmp/tree" "$base"

# once SIDE TREE PACKAGE BENCHMARKS TIME
once() {
	(cd "$2/$3" && "$tmp/$1.test" -test.run '^$' -test.bench "$4" -test.benchtime "$5" -test.timeout 30m) >>"$tmp/$1"
}

while read -r package benchmarks time; do
	echo "$package" | grep -Eq "${ONLY:-.}" || continue
	[ -d "$tmp/tree/$package" ] || { echo "$package is not in $base"; continue; }
	echo "$package $benchmarks"
	(cd "$tmp/tree" && $go test -vet=off -c -o "$tmp/base.test" "./$package")
	(cd "$new" && $go test -vet=off -c -o "$tmp/new.test" "./$package")
	i=0
	while [ "$i" -lt "$count" ]; do
		once base "$tmp/tree" "$package" "$benchmarks" "$time" </dev/null
		once new "$new" "$package" "$benchmarks" "$time" </dev/null
		i=$((i + 1))
	done
done <<'LIST'
noise . 200ms
rewrite/pgsyntax Parse 200ms
budget/ledger Charge 200x
mlext/descent . 200ms
internal/engine/model TrainStream 1x
cmd/dpsql PointQuestion$ 2x
internal/testkit/bench/tpc Plan 20x
internal/testkit/bench/tpc TPCH 1x
LIST
$go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da "base=$tmp/base" "here=$tmp/new"
