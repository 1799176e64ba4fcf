# SQLAlchemy: reflection of every table, ORM aggregates over an automap, a streamed result.
import sys

from sqlalchemy import create_engine, func, inspect, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.automap import automap_base
from sqlalchemy.orm import Session

engine = create_engine(f"postgresql+psycopg2://analyst:demo@{sys.argv[1]}/demo", future=True)
look = inspect(engine)
print("schemas:", look.get_schema_names())
for t in sorted(look.get_table_names()):
    print(f"{t}: {', '.join(c['name'] + ' ' + str(c['type']) for c in look.get_columns(t)[:3])}; key {look.get_pk_constraint(t)['constrained_columns']}; "
          f"references {[k['referred_table'] for k in look.get_foreign_keys(t)]}; {len(look.get_indexes(t))} indexes, {len(look.get_unique_constraints(t))} unique, "
          f"{len(look.get_check_constraints(t))} checks, comment {look.get_table_comment(t)['text']}")
print("views:", look.get_view_names(), "enums:", look.get_enums(), "sequences:", look.get_sequence_names())
Base = automap_base()
Base.prepare(autoload_with=engine)
print("mapped:", sorted(Base.classes.keys()))
Encounter = Base.classes.encounters
with Session(engine) as s:
    for key, n in s.execute(select(Encounter.readmitted, func.count()).group_by(Encounter.readmitted).order_by(Encounter.readmitted)):
        print(f"group: {key} ~{n}")
    print(f"count: ~{s.scalar(select(func.count()).select_from(Encounter).where(Encounter.medications >= 7))}")
    kind = Base.classes.admission_types
    print("a public table:", len(s.scalars(select(kind)).all()), "objects")
with engine.connect().execution_options(stream_results=True) as c:
    print("streamed:", [r[0] for r in c.execute(text("SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1"))])
with Session(engine) as s:
    try:
        s.scalars(select(Encounter)).all()
    except DBAPIError as e:
        print("objects of a private table:", e.orig.pgcode, e.orig.diag.message_primary)
