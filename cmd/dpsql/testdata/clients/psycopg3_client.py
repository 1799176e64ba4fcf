# psycopg 3: server-side parameters, prepared statements, binary rows, server cursors, COPY, cancel.
import sys
import threading

import psycopg

host, port = sys.argv[1].split(":")
conn = psycopg.connect(host=host, port=port, user="analyst", password="demo", dbname="demo", options="-c dpsql.notices=brief -c dpsql.expected_size=5000 -c statement_timeout=30s")
for name in "dpsql.expected_size", "statement_timeout":
    print("by options:", name, conn.execute("SHOW " + name).fetchone()[0])
notices = []
conn.add_notice_handler(lambda d: notices.append(d.message_primary))
cur = conn.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1")
print("tables:", ", ".join(r[0] for r in cur))
question = "SELECT count(*) FROM encounters WHERE medications >= %s"
first = conn.execute(question, (9,)).fetchone()[0]
print(f"count: ~{first}")
print("a notice tells the price:", any("price" in n for n in notices))
same = {conn.execute(question, (9,), prepare=True).fetchone()[0] for _ in range(7)}
print("prepared 7 times, the same answer:", same == {first})
binary = conn.cursor(binary=True)
binary.execute("SELECT readmitted, count(*), avg(medications) FROM encounters GROUP BY 1 ORDER BY 1")
for key, n, mean in binary:
    print(f"binary: {key} ~{n} ~{mean:.1f} {type(mean).__name__}")
with conn.cursor(name="groups") as named:
    named.execute("SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1")
    print("server cursor:", [r[0] for r in named.fetchmany(2)], [r[0] for r in named.fetchall()])
with conn.cursor().copy("COPY (SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1) TO STDOUT (FORMAT binary)") as copy:
    copy.set_types(["text", "int8"])
    print("binary copy:", [r[0] for r in copy.rows()])
for cast in "", "::int[]":
    row = conn.execute(f"SELECT count(*) FROM encounters WHERE medications = ANY(%s{cast})", ([5, 6, 7],)).fetchone()
    print(f"a list{cast}: ~{row[0]}")
with conn.pipeline():
    a, b = conn.execute("SELECT 1 + %s::int", (1,)), conn.execute("SELECT current_user")
print("pipeline:", a.fetchone(), b.fetchone())
conn.commit()
try:
    with conn.transaction():
        conn.execute("SELECT * FROM encounters")
except psycopg.Error as e:
    print(f"rows: {e.sqlstate} {e.diag.message_primary}")
conn.rollback()
over = threading.Event()


def cancel():
    while not over.wait(0.2):  # until it has begun, and ends
        conn.cancel()


other = threading.Thread(target=cancel)
other.start()
try:
    conn.execute("SELECT pg_sleep(20)")
except psycopg.errors.QueryCanceled as e:
    print("cancel:", e.sqlstate)
over.set()
other.join()
conn.rollback()
