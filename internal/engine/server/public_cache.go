package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// ReadPublic runs a print over public tables alone; its rows are public values.
func (e *Engine) ReadPublic(ctx context.Context, w *World, st *sqlgen.Statement, args []sqltype.Value, most int) (out [][]sqltype.Value, err error) {
	for _, c := range st.Columns { // a print of private totals is not for here
		if c.Role != sqlgen.RoleOutput {
			return nil, sqlerr.New(sqlerr.Internal, "a private statement was printed as a public one")
		}
	}
	err = e.InSnapshot(ctx, w, st, args, func(rows secret.Rows) (err error) {
		out, err = PublicRows(w, rows, most)
		return err
	})
	return out, err
}

// PublicRows opens the rows of a print over public tables alone.
func PublicRows(w *World, rows secret.Rows, most int) (out [][]sqltype.Value, err error) {
	bytes := int64(0)
	for rows.Next() {
		in := rows.Row()
		row := make([]sqltype.Value, len(in))
		for i, v := range in {
			if row[i] = secret.Open(v); secret.IsUnreadable(row[i]) {
				return nil, backend.NewError(backend.FailOther, "type", errors.New("an unreadable value"))
			}
			bytes += sizeOf(row[i])
		}
		if bytes > w.answers {
			return nil, backend.NewError(backend.FailResource, "memory", fmt.Errorf("more than %d bytes", w.answers))
		}
		if len(out) == most {
			return nil, backend.NewError(backend.FailResource, "rows", fmt.Errorf("more than %d rows", most))
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// sizeOf is the memory of a value, about.
func sizeOf(v sqltype.Value) int64 {
	const word = 32 // an interface and a row's share
	switch v := v.(type) {
	case string:
		return word + int64(len(v))
	case sqltype.Bytes:
		return word + int64(len(v))
	case sqltype.JSON:
		return word + int64(len(v))
	case *sqltype.Array:
		n := int64(2 * word)
		for _, e := range v.Values {
			n += sizeOf(e)
		}
		return n
	case decimal.Decimal:
		return 2*word + int64(v.Coefficient().BitLen()/8)
	}
	return word
}

// PublicCache keeps the distinct values of public tables' columns for a while: they make public groups.
type PublicCache struct {
	engine *Engine
	world  *World
	mu     sync.Mutex
	held   map[string]publicValues
}

type publicValues struct {
	tuples [][]sqltype.Value
	until  time.Time
}

// PublicTTL is for how long the values of a public table are taken for what they are: groups are answered in full but for what it gained since.
const PublicTTL = 5 * time.Second

func newPublicCache(e *Engine, w *World) *PublicCache {
	return &PublicCache{engine: e, world: w, held: map[string]publicValues{}}
}

// Distinct implements plan.PublicReader; tuples are sorted, NULL last.
func (c *PublicCache) Distinct(ctx context.Context, t *plan.Table, columns []int, limit int) ([][]sqltype.Value, error) {
	if !t.Public {
		return nil, sqlerr.New(sqlerr.Internal, "%s is not public", t.Name)
	}
	return c.read(ctx, t.Name, fmt.Sprintf("%q.%q %v %d", t.Schema, t.Name, columns, limit), func() (*sqlgen.Statement, error) {
		return sqlgen.DistinctTuples(t, columns, limit, c.engine.Dialect)
	})
}

// MostOften implements plan.FrequencyReader.
func (c *PublicCache) MostOften(ctx context.Context, r plan.Rel, by []plan.ColID) (uint64, error) {
	st, err := sqlgen.MostOften(r, by, c.engine.Dialect)
	if err != nil {
		return 0, err
	}
	names := []string{}
	for _, s := range ScansOf(r) {
		if s.Table.Schema == Own {
			return 0, OwnTableJoined(s.Pos)
		}
		names = append(names, s.Table.Name)
	}
	rows, err := c.read(ctx, strings.Join(names, ", "), fmt.Sprintf("%s %v", st.SQL, st.Args), func() (*sqlgen.Statement, error) { return st, nil })
	if err != nil {
		return 0, err
	}
	return MostOften(rows)
}

// ErrGrown says that a public table gives a person more rows than it did when the statement was analysed.
var ErrGrown = errors.New("engine: a public table has grown since the statement was analysed")

// logUnreadPublic tells the owner which public tables could not be read, and why. A backend's own words stay out, as a public view may read private tables.
func logUnreadPublic(log *slog.Logger, tables string, err error) {
	if errors.Is(err, backend.ErrSchema) {
		log.Warn("the database's schema changed while a public table was read: the statement was refused, and nothing was spent", "table", tables)
		return
	}
	words := append([]any{"table", tables}, Logged(err)...)
	if be := (*backend.Error)(nil); !errors.As(err, &be) {
		words = append(words, "cause", err.Error())
	}
	log.Error("a public table could not be read: statements that need it are refused, and nothing is spent", words...)
}

// Forget drops what was read of public tables.
func (c *PublicCache) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.held)
}

// MostOften is the number that such a print gives.
func MostOften(rows [][]sqltype.Value) (uint64, error) {
	if len(rows) == 1 && len(rows[0]) == 1 {
		if n, ok := rows[0][0].(int64); ok && n >= 0 {
			return uint64(n), nil
		}
	}
	return 0, sqlerr.New(sqlerr.Internal, "how often values of a public table occur was not read")
}

// read runs a print over public tables, or remembers what it gave under that name; tuples are sorted.
func (c *PublicCache) read(ctx context.Context, tables, name string, print func() (*sqlgen.Statement, error)) ([][]sqltype.Value, error) {
	c.mu.Lock()
	have, ok := c.held[name]
	c.mu.Unlock()
	if ok && time.Now().Before(have.until) {
		return have.tuples, nil
	}
	st, err := print()
	if err != nil {
		return nil, err
	}
	tuples, err := c.engine.ReadPublic(ctx, c.world, st, nil, int(c.world.Policy.Limits.PublicRows))
	if err != nil {
		logUnreadPublic(c.engine.Log, tables, err)
		if errors.Is(err, backend.ErrSchema) {
			return nil, sqlerr.New(sqlerr.SchemaChanged, "the database's schema has changed").
				WithHint("Nothing was spent. Ask again: the statement is then read under the new schema.").WithCause(err)
		}
		return nil, sqlerr.New(sqlerr.ResourceFailure, "the database could not be asked for the values of public table %s", tables).WithCause(err)
	}
	slices.SortFunc(tuples, compareTuples)
	c.keep(name, tuples)
	return tuples, nil
}

// maxHeld limits the tuples that are kept: an analyst chooses which columns are asked for.
const maxHeld = 1 << 20

// keep remembers tuples, forgets what has expired, and forgets all where it would be too much.
func (c *PublicCache) keep(name string, tuples [][]sqltype.Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, held := time.Now(), len(tuples)
	for k, v := range c.held {
		if now.Before(v.until) {
			held += len(v.tuples) + 1
		} else {
			delete(c.held, k)
		}
	}
	if held > maxHeld {
		clear(c.held)
	}
	c.held[name] = publicValues{tuples, now.Add(PublicTTL)}
}

func compareTuples(a, b []sqltype.Value) int {
	for i := range a {
		switch {
		case a[i] == nil && b[i] == nil:
			continue
		case a[i] == nil:
			return 1
		case b[i] == nil:
			return -1
		}
		if c := sqltype.Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

// Own is the schema of dpsql's own tables.
const Own = "dpsql"

// OwnTableJoined refuses a join with one of dpsql's own tables.
func OwnTableJoined(pos int) error {
	return sqlerr.New(sqlerr.Unsupported, "tables of schema dpsql cannot be joined with others").At(pos)
}

// ScansOf are all tables that a plan reads, also in subqueries of expressions.
func ScansOf(r plan.Rel) []*plan.Scan {
	var out []*plan.Scan
	plan.VisitRels(r, func(r plan.Rel) bool {
		if s, ok := r.(*plan.Scan); ok {
			out = append(out, s)
		}
		return true
	})
	return out
}

// TableNames are the tables of a relation.
func TableNames(r plan.Rel) string {
	var names []string
	for _, s := range ScansOf(r) {
		if !slices.Contains(names, s.Table.Name) {
			names = append(names, s.Table.Name)
		}
	}
	return strings.Join(names, ", ")
}
