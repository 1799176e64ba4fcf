#!/bin/sh
# Installs what the tests need and the machine lacks: PostgreSQL's server, psql, psycopg2.
set -eu
want=""
if ! command -v initdb >/dev/null 2>&1 && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then want="$want postgresql"; fi
command -v psql >/dev/null 2>&1 || want="$want postgresql-client"
/usr/bin/python3 -c 'import psycopg2' >/dev/null 2>&1 || want="$want python3-psycopg2"
command -v openssl >/dev/null 2>&1 || want="$want openssl"
command -v gcc >/dev/null 2>&1 && command -v g++ >/dev/null 2>&1 || want="$want gcc g++"
[ -n "$want" ] || exit 0
run=""
[ "$(id -u)" = 0 ] || run="sudo"
echo "installing:$want"
export DEBIAN_FRONTEND=noninteractive
$run apt-get update -qq
# shellcheck disable=SC2086
$run apt-get install -y -qq --no-install-recommends $want >/dev/null
