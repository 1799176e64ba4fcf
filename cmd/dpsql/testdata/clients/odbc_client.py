# psqlODBC by its C API, through pyodbc: SQLTables, SQLColumns, SQLPrimaryKeys, SQLForeignKeys, SQLStatistics, parameters, statement_timeout.
import sys

import pyodbc

host, port = sys.argv[1].split(":")
driver = next(d for d in pyodbc.drivers() if d.lower() == "postgresql unicode")
conn = pyodbc.connect(f"Driver={{{driver}}};Servername={host};Port={port};Database=demo;UID=analyst;PWD=demo", autocommit=True)
cur = conn.cursor()
print("tables:", ", ".join(sorted(t.table_name for t in cur.tables(schema="public", tableType="TABLE"))))
for c in cur.columns(schema="public", table="patients"):
    print("column:", c.column_name, c.type_name, c.nullable)
print("key:", [k.column_name for k in cur.primaryKeys(schema="public", table="encounters")])
print("references:", sorted((k.fkcolumn_name, k.pktable_name) for k in cur.foreignKeys(foreignSchema="public", foreignTable="encounters")))
print("indexes:", sorted({i.index_name for i in cur.statistics(schema="public", table="encounters") if i.index_name}))
n = cur.execute("SELECT count(*) FROM encounters WHERE medications >= ?", 20).fetchval()
print(f"count: ~{n}")
print("prepared 7 times, the same answer:", {cur.execute("SELECT count(*) FROM encounters WHERE medications >= ?", 20).fetchval() for _ in range(7)} == {n})
for key, n in cur.execute("SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1"):
    print(f"group: {key} ~{n}")
try:
    cur.execute("SELECT * FROM patients")
except pyodbc.Error as e:
    print("rows:", e.args[0])
cur.execute("SET statement_timeout = 200")
try:
    cur.execute("SELECT pg_sleep(10)")
except pyodbc.Error as e:
    print("statement_timeout:", e.args[0])
