package neighbour

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// Postgres is a connection to a real PostgreSQL.
type Postgres struct{ Conn *pgconn.PgConn }

// OpenClinic makes a database with the clinic's tables and data on a server and connects to it as its superuser.
func OpenClinic(ctx context.Context, s *pgtest.Server, name string, d Data) (*Postgres, error) {
	if err := s.CreateDB(name); err != nil {
		return nil, err
	}
	conn, err := pgconn.Connect(ctx, s.URL(name))
	if err != nil {
		return nil, err
	}
	p := &Postgres{conn}
	for _, sql := range append(ClinicCatalog().DDL(), ClinicRows(d)...) {
		if err := p.Exec(ctx, sql); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, sql)
		}
	}
	return p, p.Exec(ctx, "SET search_path = ''")
}

// Exec runs a statement.
func (p *Postgres) Exec(ctx context.Context, sql string) error {
	_, err := p.Conn.Exec(ctx, sql).ReadAll()
	return err
}

// Query runs a printed statement.
func (p *Postgres) Query(ctx context.Context, st *sqlgen.Statement) ([][]sqltype.Value, error) {
	values, oids := make([][]byte, len(st.Args)), make([]uint32, len(st.Args))
	for i, a := range st.Args {
		if a.Param > 0 {
			return nil, fmt.Errorf("neighbour: the statement has a parameter of its own")
		}
		oids[i] = uint32(a.Type.OID)
		if a.Value != nil {
			values[i] = []byte(sqltype.FormatText(a.Value, a.Type))
		}
	}
	types := make([]sqltype.Type, len(st.Columns))
	for i, c := range st.Columns {
		types[i] = c.Type
	}
	return p.read(p.Conn.ExecParams(ctx, st.SQL, values, oids, nil, nil), types)
}

// Text runs a statement as an analyst wrote it; types are its columns'.
func (p *Postgres) Text(ctx context.Context, sql string, types []sqltype.Type) ([][]sqltype.Value, error) {
	return p.read(p.Conn.ExecParams(ctx, sql, nil, nil, nil, nil), types)
}

func (p *Postgres) read(r *pgconn.ResultReader, types []sqltype.Type) ([][]sqltype.Value, error) {
	res := r.Read()
	if res.Err != nil {
		return nil, res.Err
	}
	var out [][]sqltype.Value
	for _, row := range res.Rows {
		if len(row) != len(types) {
			return nil, fmt.Errorf("neighbour: %d columns came, %d were said", len(row), len(types))
		}
		vals := make([]sqltype.Value, len(row))
		for i, b := range row {
			if b == nil {
				continue
			}
			got := sqltype.Type{OID: sqltype.OID(res.FieldDescriptions[i].DataTypeOID), Typmod: -1}
			if !readable(got, types[i]) {
				return nil, fmt.Errorf("neighbour: column %d is %s, not %s", i+1, got, types[i])
			}
			v, err := sqltype.ParseText(string(b), sqltype.Type{OID: types[i].OID, Typmod: -1})
			if err != nil {
				return nil, fmt.Errorf("column %d: %w", i+1, err)
			}
			vals[i] = v
		}
		out = append(out, vals)
	}
	return out, nil
}

func readable(got, want sqltype.Type) bool {
	return got.OID == want.OID || got.IsString() && want.IsString() || got.IsInteger() && want.IsInteger()
}
