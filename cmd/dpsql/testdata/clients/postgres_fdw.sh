# A PostgreSQL (its URL is in FROM) that has dpsql's tables as foreign ones: the import, what is pushed down, what is refused; then the tools of PostgreSQL's owners.
set -eu
host=${1%:*} port=${1#*:}
psql -X -q -w "$FROM" -v host="$host" -v port="$port" 2>&1 <<'EOF' | sed -E "s/^( *\S+ +\| +)([0-9.]+)$/\1~\2/; s/^(CONTEXT: .{60}).*/\1 .../"
CREATE EXTENSION postgres_fdw;
SELECT format('CREATE SERVER dp FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname %L, fdw_tuple_cost %L)', :'host', :'port', 'demo', '1e6') \gexec
CREATE USER MAPPING FOR CURRENT_USER SERVER dp OPTIONS (user 'analyst', password 'demo');
IMPORT FOREIGN SCHEMA public FROM SERVER dp INTO public;
\d patients
EXPLAIN (VERBOSE, COSTS OFF) SELECT readmitted, count(*) FROM encounters GROUP BY readmitted;
SELECT readmitted, count(*) FROM encounters GROUP BY readmitted ORDER BY 1;
SELECT gender, count(*) FROM patients JOIN encounters USING (patient_id) GROUP BY gender ORDER BY 1;
SELECT * FROM admission_types ORDER BY id LIMIT 2;
SELECT * FROM patients LIMIT 1;
ANALYZE encounters;
EOF
export PGPASSWORD=demo PGHOST="$host" PGPORT="$port" PGUSER=analyst
for tool in 'pg_isready -q' 'pg_dump -w --schema-only demo' 'vacuumdb -w demo' 'reindexdb -w demo'; do
	echo "== $tool"
	$tool 2>&1 || echo "exit $?"
done
