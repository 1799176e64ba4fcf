# psql: \-commands, what a statement would give, a pivot, a copy to a file, FETCH_COUNT, a notice with the price, settings by PGOPTIONS.
set -eu
host=${1%:*} port=${1#*:}
export PGPASSWORD=demo PGAPPNAME=psql
PGOPTIONS='-c dpsql.expected_size=5000 --statement-timeout=30s -cdatestyle=German,\ DMY' psql -X -At -h "$host" -p "$port" -U analyst demo -c 'SHOW dpsql.expected_size' -c 'SHOW statement_timeout' -c 'SHOW datestyle'
psql -X -h "$host" -p "$port" -U analyst demo 2>&1 <<EOF | sed -E 's/^( *\S+ +\| +)([0-9.]+)$/\1~\2/; s/^(NOTICE: +spent: [a-z]+( [0-9.]+)?).*/\1 .../'
\\dt
\\d prescriptions
SELECT readmitted, count(*), avg(medications) FROM encounters GROUP BY 1 \\gdesc
SELECT count(*) > 0 AS asked FROM encounters WHERE medications >= 6;
\\copy (SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1) to '$2/psql.csv' csv header
\\set FETCH_COUNT 2
SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1;
\\unset FETCH_COUNT
SELECT dose_change, drug, count(*) > 0 AS some FROM prescriptions WHERE drug IN ('insulin', 'metformin') GROUP BY 1, 2 \\crosstabview
SELECT gender, race FROM patients;
\\copy patients to '$2/patients.csv'
EOF
head -1 "$2/psql.csv"
