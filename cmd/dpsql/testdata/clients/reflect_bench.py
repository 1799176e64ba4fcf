# How long SQLAlchemy takes to reflect a schema whole, by each of two URLs in turns: the medians in milliseconds, a line each, and the median of the turns' ratios. Arguments: rounds, URLs.
import statistics
import sys
import time

from sqlalchemy import MetaData, create_engine, inspect

rounds, urls = int(sys.argv[1]), sys.argv[2:]
took = {url: [] for url in urls}
engines = {url: create_engine(url) for url in urls}
for i in range(rounds + 1):
    for url in urls:
        with engines[url].connect() as c:
            start = time.perf_counter()
            meta = MetaData()
            meta.reflect(c)
            look = inspect(c)
            look.get_schema_names(), look.get_view_names(), look.get_sequence_names(), look.get_enums()
            for t in meta.tables:
                look.get_table_comment(t)
            if i > 0:  # the first has the dialect's own look-ups
                took[url].append((time.perf_counter() - start) * 1000)
            assert len(meta.tables) >= 6
for url in urls:
    print(f"{statistics.median(took[url]):.2f}")
print(f"{statistics.median(a / b for a, b in zip(*took.values())):.3f}")
