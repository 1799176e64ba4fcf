# asyncpg: binary everything, cursors, COPY, its own look-ups of types, the pool's reset.
import asyncio
import io
import sys

import asyncpg


async def main():
    host, port = sys.argv[1].split(":")
    pool = await asyncpg.create_pool(host=host, port=int(port), user="analyst", password="demo", database="demo", server_settings={"dpsql.notices": "brief", "options": "-c dpsql.expected_size=5000", "statement_timeout": "30s"}, min_size=1, max_size=2)
    async with pool.acquire() as c:
        notices = []
        listen = lambda _, n: notices.append(n.message)
        c.add_log_listener(listen)
        print("server:", c.get_server_version()[:1], c.get_settings().server_encoding)
        for name in "dpsql.expected_size", "statement_timeout":
            print("by options:", name, await c.fetchval("SHOW " + name))
        rows = await c.fetch("SELECT table_name::text AS t FROM information_schema.tables WHERE table_schema = $1 ORDER BY 1", "public")
        print("tables:", ", ".join(r["t"] for r in rows))
        n = await c.fetchval("SELECT count(*) FROM encounters WHERE medications >= $1", 6)
        print(f"count: ~{n}")
        await asyncio.sleep(0)
        print("a notice tells the price:", any("price" in n for n in notices))
        c.remove_log_listener(listen)
        st = await c.prepare("SELECT readmitted, count(*), avg(medications) AS mean FROM encounters GROUP BY 1 ORDER BY 1")
        print("described:", [(a.name, a.type.name) for a in st.get_attributes()])
        for r in await st.fetch():
            print(f"group: {r[0]} ~{r[1]} ~{r['mean']:.1f}")
        async with c.transaction():
            async for r in c.cursor("SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1", prefetch=1):
                print(f"cursor: {r[0]}")
        out = io.BytesIO()
        print("copy:", await c.copy_from_query("SELECT readmitted, count(*) FROM encounters WHERE medications >= $1 GROUP BY 1", 6, output=out, format="csv"))
        print("array:", await c.fetchval("SELECT array[1, 2] || $1::int[]", [3]))
        print(f"a list: ~{await c.fetchval('SELECT count(*) FROM encounters WHERE readmitted = ANY($1)', ['NO', '<30'])}")
        for sql in "SELECT * FROM patients", "SELECT nothing FROM patients":
            try:
                await c.fetch(sql)
            except asyncpg.PostgresError as e:
                print(f"{sql}: {e.sqlstate} {e.message}")
        try:
            await c.execute("SELECT pg_sleep(10)", timeout=0.3)
        except asyncio.TimeoutError:
            print("timeout: cancelled")
        print("still here:", await c.fetchval("SELECT 1"))
    await pool.close()


asyncio.run(main())
