#!/bin/sh
# Installs the clients that make test-clients runs and the machine lacks: Debian's packages, and npm's by the lock file.
set -eu
want=""
python() { /usr/bin/python3 -c "import $1" >/dev/null 2>&1 || want="$want $2"; }
python psycopg2 python3-psycopg2
python psycopg python3-psycopg
python asyncpg python3-asyncpg
python sqlalchemy python3-sqlalchemy
python pandas python3-pandas
python matplotlib python3-matplotlib
python pyodbc python3-pyodbc
command -v pgcli >/dev/null 2>&1 || want="$want pgcli"
command -v isql >/dev/null 2>&1 || want="$want unixodbc"
odbcinst -q -d 2>/dev/null | grep -qi postgresql || want="$want odbc-postgresql odbcinst"
command -v javac >/dev/null 2>&1 || want="$want default-jdk-headless"
[ -e /usr/share/java/postgresql.jar ] || want="$want libpostgresql-jdbc-java"
Rscript -e 'library(RPostgreSQL)' >/dev/null 2>&1 || want="$want r-cran-rpostgresql"
command -v node >/dev/null 2>&1 || want="$want nodejs"
command -v npm >/dev/null 2>&1 || want="$want npm"
if [ -n "$want" ]; then
	run=""
	[ "$(id -u)" = 0 ] || run="sudo"
	echo "installing:$want"
	export DEBIAN_FRONTEND=noninteractive
	$run apt-get update -qq
	# shellcheck disable=SC2086
	$run apt-get install -y -qq --no-install-recommends $want >/dev/null
fi
cd cmd/dpsql/testdata/clients/node
if ! cmp -s package-lock.json node_modules/.installed; then
	npm ci --ignore-scripts --no-fund --no-audit
	cp package-lock.json node_modules/.installed
fi
