# pandas: read_sql into a frame, a public table, chunks, a plot.
import os
import sys

import matplotlib

matplotlib.use("Agg")
import pandas
from sqlalchemy import create_engine, text

engine = create_engine(f"postgresql+psycopg2://analyst:demo@{sys.argv[1]}/demo", future=True)
with engine.connect() as c:
    groups = pandas.read_sql(text("SELECT readmitted, count(*) AS stays, avg(medications) AS medications FROM encounters GROUP BY 1 ORDER BY 1"), c)
    for r in groups.itertuples():
        print(f"{r.readmitted} ~{r.stays} ~{r.medications:.1f}")
    print("types:", list(groups.dtypes.astype(str)))
    axes = groups.plot.bar(x="readmitted", y="stays")
    name = os.path.join(sys.argv[2], "pandas.png")
    axes.get_figure().savefig(name)
    print("plot:", axes.get_xlabel(), len(axes.patches), "bars,", "a PNG" if open(name, "rb").read(4) == b"\x89PNG" else "nothing")
    print("a public table:", pandas.read_sql_table("admission_types", c).shape)
    chunks = pandas.read_sql(text("SELECT readmitted, count(*) AS stays FROM encounters GROUP BY 1 ORDER BY 1"), c.execution_options(stream_results=True), chunksize=2)
    print("chunks:", [len(k) for k in chunks])
