#!/bin/sh
# Builds Citus from ../shared/citus and installs it into this machine's PostgreSQL 15, once. The build stays in the cache.
set -eu
from=$(cd "$(dirname "$0")/.." && pwd)/../shared/citus
if [ ! -x "$from/build.sh" ]; then
	echo "no ../shared/citus: tests on a Citus cluster are skipped"
	exit 0
fi
sh=""
[ "$(id -u)" = 0 ] || sh="sudo"
$sh "$from/build.sh" "${XDG_CACHE_HOME:-$HOME/.cache}/dpsql-citus"
