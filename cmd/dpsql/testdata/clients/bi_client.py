# What BI tools that cannot run here send for a chart, and for rows, in each one's manner; over psycopg2.
import sys

import psycopg2

SENT = {
    "Grafana": ["SELECT readmitted AS metric, count(*) AS value FROM encounters GROUP BY 1 ORDER BY 1", "SELECT * FROM encounters LIMIT 50"],
    "Metabase": ['SELECT "public"."encounters"."readmitted" AS "readmitted", COUNT(*) AS "count" FROM "public"."encounters" GROUP BY "public"."encounters"."readmitted" ORDER BY "public"."encounters"."readmitted" ASC',
                 'SELECT "source"."race" FROM (SELECT "public"."patients"."race" FROM "public"."patients") AS "source" LIMIT 2000'],
    "Superset": ["SELECT readmitted AS readmitted, AVG(medications) AS \"AVG(medications)\" FROM public.encounters GROUP BY readmitted ORDER BY readmitted LIMIT 10000", "SELECT gender, race FROM public.patients LIMIT 1001"],
    "Tableau": ['SELECT "encounters"."readmitted" AS "readmitted", COUNT(1) AS "cnt:encounters:ok" FROM "public"."encounters" "encounters" GROUP BY 1 ORDER BY 1', 'SELECT "patients"."gender" AS "gender", "patients"."race" AS "race" FROM "public"."patients" "patients"'],
    "Power BI": ['select "rows"."readmitted" as "readmitted", count(1) as "a0" from (select "$Table"."readmitted" as "readmitted" from "public"."encounters" "$Table") "rows" group by "readmitted" order by 1 limit 1000001',
                 'select "$Table"."gender" as "gender" from "public"."patients" "$Table" limit 1000'],
    "Looker": ['SELECT encounters.readmitted AS "encounters.readmitted", COUNT(*) AS "encounters.count" FROM public.encounters AS encounters GROUP BY 1 ORDER BY 1 FETCH NEXT 500 ROWS ONLY', "CREATE TABLE looker_scratch.t AS SELECT 1"],
    "DBeaver": ["SELECT x.* FROM public.admission_types x WHERE id <= 2 ORDER BY id", "SELECT x.* FROM public.patients x"],
    "pgAdmin": ["SELECT readmitted, count(*) FROM public.encounters GROUP BY 1 ORDER BY 1", "SELECT * FROM public.patients ORDER BY patient_id ASC LIMIT 100"],
    "Npgsql": ["SELECT readmitted, count(*) FROM encounters GROUP BY readmitted ORDER BY readmitted", "COPY patients (gender, race) TO STDOUT (FORMAT BINARY)"],
}


def shown(v):
    noisy = not isinstance(v, str) and v is not None and not public
    return f"~{float(v):g}" if noisy else str(v)


conn = psycopg2.connect(f"postgresql://analyst:demo@{sys.argv[1]}/demo")
conn.autocommit = True
for tool, statements in SENT.items():
    print(f"{tool}:")
    for sql in statements:
        print("  " + sql)
        public = "admission_types" in sql
        with conn.cursor() as c:
            try:
                c.execute(sql)
                for row in c:
                    print("    " + " | ".join(shown(v) for v in row))
            except psycopg2.Error as e:
                print(f"    {e.pgcode} {e.diag.message_primary}")
                print(f"    hint: {e.diag.message_hint}")
