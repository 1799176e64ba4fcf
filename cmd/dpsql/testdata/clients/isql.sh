# psqlODBC by unixODBC's isql: tables, columns, an aggregate, an error.
set -eu
host=${1%:*} port=${1#*:}
driver=$(odbcinst -q -d | grep -i 'postgresql unicode' | tr -d '[]')
dsn="Driver={$driver};Servername=$host;Port=$port;Database=demo;UID=analyst;PWD=demo;SSLmode=disable"
printf '%s\n' 'help' 'help patients' 'SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1' 'SELECT count(*) FROM encounters WHERE medications >= 19' 'SELECT * FROM patients' |
	isql -k "$dsn" -b -d'|' -v 2>&1 | grep -v '|dpsql|' | sed -E 's/^([^|]+\|)?([0-9]+)$/\1 ~\2/; s/^(demo\|public\|[a-z]+\|[a-z_]+\|[-0-9]+\|[a-z0-9]+).*/\1/'
