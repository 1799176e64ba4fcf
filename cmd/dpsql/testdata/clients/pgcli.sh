# pgcli: completion's look-ups at its start, its \-commands, a question, a refusal; without a terminal its prompt and colours are not shown.
set -eu
host=${1%:*} port=${1#*:}
export PGPASSWORD=demo LC_ALL=C.UTF-8 HOME="$2"
printf '%s\n' '\dt' '\d patients' 'SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1;' 'SELECT * FROM patients;' '\q' |
	pgcli -h "$host" -p "$port" -U analyst -d demo --less-chatty 2>&1 |
	grep -E '^(\+|\||"|[A-Z]+ [0-9]|LINE|HINT|rows of|Foreign|Referenced|    TABLE|argument)' | sed -E 's/\| ([0-9]+) +\|$/| ~\1 |/'
