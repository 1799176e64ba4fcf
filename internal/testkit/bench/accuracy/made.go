package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// made is a table that is drawn for a figure: the tables are empty, and what the prints of the statement give of them is told by sums of what was drawn, which may stand for more joined rows than a database can count. All else is the product's: the analysis under the policy, its prices, the release and what is computed of it.
type made struct {
	tables   []string // SQL
	policy   string   // what is said of tables and people
	query    string   // the policy's, beside its epsilon
	may      string   // the tables that the statement reads
	settings map[string]string
	sql      string
	epsilon  float64
	delta    float64
}

// open is the statement before its rows.
func (m made) open(ctx context.Context, verifier string) (s *scan, err error) {
	budget := "epsilon: 10000, delta: 0, accountant: pure"
	query := fmt.Sprintf("epsilon: %g", m.epsilon)
	if m.delta > 0 { // a half of the budget's delta is for approximate ones
		budget = fmt.Sprintf("epsilon: 10000, delta: %g, accountant: pure", 2*m.delta)
		query += fmt.Sprintf(", delta: %g", m.delta)
	}
	text := fmt.Sprintf("dataset: bench\nbackend: {duckdb: made.duckdb}\n%sbudget: {%s}\nquery: {%s%s}\nanalysts:\n  bench: {password: %q, may: [%s], max_query_price: 100}\n", m.policy, budget, query, m.query, verifier, m.may)
	p, err := policy.Parse("made.yaml", []byte(text))
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	over, err := duckdb.OpenMemory(ctx, func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, strings.Join(m.tables, ";"))
		return err
	}, duckdb.Options{Threads: 1})
	if err != nil {
		return nil, err
	}
	session, stop, err := (&bench{}).session(ctx, p, over)
	if err != nil {
		return nil, errors.Join(err, over.Close())
	}
	w := &world{policy: p, backend: over, session: session, stop: stop}
	for name, value := range m.settings {
		err = errors.Join(err, session.Set(name, []string{value}))
	}
	if err == nil {
		s, err = w.unread(ctx, m.sql)
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return s, nil
}

// give is a row of a print, by what its columns are: sorted as they are printed.
func (p *printed) give(value func(c sqlgen.Column) sqltype.Value) {
	row := make([]secret.Value, len(p.st.Columns))
	for i, c := range p.st.Columns {
		row[i] = secret.Of(value(c))
	}
	p.rows = append(p.rows, row)
}
