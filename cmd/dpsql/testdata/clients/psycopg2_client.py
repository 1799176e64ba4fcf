# psycopg2: transactions, named cursors, COPY, NOTICEs, SQLSTATEs, settings at the start, cancel.
import io
import sys
import threading

import psycopg2

host, port = sys.argv[1].split(":")
conn = psycopg2.connect(host=host, port=port, user="analyst", password="demo", dbname="demo", options="-c dpsql.notices=brief -c dpsql.expected_size=5000 -c statement_timeout=30s")
cur = conn.cursor()
for name in "dpsql.expected_size", "statement_timeout":
    cur.execute("SHOW " + name)
    print("by options:", name, cur.fetchone()[0])
cur.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1")
print("tables:", ", ".join(r[0] for r in cur))
cur.execute("SELECT count(*) AS stays, avg(medications) AS medications FROM encounters WHERE medications >= %s", (8,))
print("columns:", [(d.name, d.type_code) for d in cur.description])
count, mean = cur.fetchone()
print(f"count: ~{count}, mean: ~{mean:.1f}")
print("a notice tells the price:", any("price" in n for n in conn.notices))
conn.commit()
with conn.cursor(name="groups") as named:
    named.itersize = 2
    named.execute("SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1")
    for key, n in named:
        print(f"named cursor: {key} ~{n}")
out = io.StringIO()
cur.copy_expert("COPY (SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1) TO STDOUT WITH (FORMAT csv, HEADER)", out)
print("copy:", out.getvalue().splitlines()[0], len(out.getvalue().splitlines()), "lines")
conn.commit()
for sql in "SELECT gender, race FROM patients", "SELECT nothing FROM patients", "COPY patients TO STDOUT":
    try:
        cur.copy_expert(sql, out) if sql.startswith("COPY") else cur.execute(sql)
    except psycopg2.Error as e:
        print(f"{sql}: {e.pgcode} {e.diag.message_primary}; hint: {bool(e.diag.message_hint)}")
    conn.rollback()
cur.execute("SET statement_timeout = 200")
try:
    cur.execute("SELECT pg_sleep(10)")
except psycopg2.errors.QueryCanceled as e:
    print("statement_timeout:", e.pgcode)
conn.rollback()
cur.execute("SET statement_timeout = 0")
over = threading.Event()


def cancel():
    while not over.wait(0.2):  # until it has begun, and ends
        conn.cancel()


other = threading.Thread(target=cancel)
other.start()
try:
    cur.execute("SELECT pg_sleep(20)")
except psycopg2.errors.QueryCanceled as e:
    print("cancel:", e.pgcode)
over.set()
other.join()
