package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// timing is one statement, private against raw: medians.
type timing struct {
	name, data, kind string
	raw, private     time.Duration
	failed           string  // why there is no private time
	target           float64 // largest ratio; 0: recorded only
}

// ratio is how much longer the private one takes; infinite where it failed.
func (t *timing) ratio() float64 {
	if t.failed != "" {
		return math.Inf(1)
	}
	return t.private.Seconds() / t.raw.Seconds()
}

// timed is a statement with a place for a number that makes it new: a repeat would be answered from the stored release.
type timed struct {
	name, sql string
	target    float64
}

var tpchTimed = []timed{
	{"Q1-like", `SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
  sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
  avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
  FROM lineitem WHERE l_shipdate <= DATE '1998-09-02' AND l_quantity < %d GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus`, 4.5},
	{"Q6-like", `SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem
  WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < %d`, 2},
	{"Q5-like", `SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
  FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey JOIN supplier ON l_suppkey = s_suppkey AND c_nationkey = s_nationkey
  JOIN nation ON s_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey
  WHERE r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' AND l_quantity < %d GROUP BY n_name ORDER BY revenue DESC`, 2},
}

// timedOf are the statements of a data set.
func timedOf(d *dataset) []timed {
	var out []timed
	if d.sf <= 1 {
		out = append(out, tpchTimed...)
	}
	for _, q := range questions {
		if q.slower > 0 && q.data == d.name {
			body, groups, grouped := strings.Cut(q.sql, " GROUP BY ")
			if grouped {
				groups = " GROUP BY " + groups
			}
			word := " WHERE "
			if strings.Contains(body, word) || strings.Contains(body, "\n  WHERE ") {
				word = " AND "
			}
			out = append(out, timed{q.id, body + word + "o_orderkey > -%d" + groups, q.slower}) // true of every order
		}
	}
	return out
}

const rounds = 5

func (b *bench) times(ctx context.Context) ([]*timing, error) {
	var out []*timing
	for _, d := range datasets {
		if d.sf == 0 {
			continue
		}
		var list []timed
		for _, t := range timedOf(d) {
			if b.only.MatchString(t.name) {
				list = append(list, t)
			}
		}
		if len(list) == 0 {
			continue
		}
		if err := b.ready(d); err != nil {
			return nil, err
		}
		for _, measure := range []func(context.Context, *dataset, []timed) ([]*timing, error){b.postgresTimes, b.duckTimes} {
			got, err := measure(ctx, d, list)
			if err != nil {
				return nil, fmt.Errorf("times on %s: %w", d.name, err)
			}
			out = append(out, got...)
		}
	}
	return out, nil
}

func (b *bench) postgresTimes(ctx context.Context, d *dataset, list []timed) (out []*timing, err error) {
	c, err := pgx.Connect(ctx, b.pg.ReaderURL(d.name))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	if _, err := c.Exec(ctx, "SET work_mem = '"+workMem+"'; SET jit = off"); err != nil {
		return nil, err
	}
	p, err := postgres.Open(ctx, b.pg.ReaderURL(d.name), postgres.Options{Settings: map[string]string{"work_mem": workMem}})
	if err != nil {
		return nil, err
	}
	private, stop, err := b.asker(ctx, d, "postgres", b.pg.ReaderURL(d.name), p)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	defer func() { err = errors.Join(err, stop()) }()
	raw := func(sql string) error {
		_, err := c.Exec(ctx, sql)
		return err
	}
	for _, t := range list {
		r := &timing{name: t.name, data: d.name, kind: "postgres", target: t.target}
		if err := r.ask(b, raw, private, t.sql); err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// ask measures both sides in turns, after one of each to warm up; a private statement that fails, for time or memory, is a row too.
func (t *timing) ask(b *bench, raw, private func(string) error, text string) error {
	var took [2][]time.Duration
	for i := range rounds + 1 {
		for side, ask := range []func(string) error{raw, private} {
			if ask == nil || side == 1 && t.failed != "" {
				continue
			}
			begin := time.Now()
			err := ask(fmt.Sprintf(text, 1000+i))
			switch {
			case err != nil && side == 0:
				return err
			case err != nil:
				t.failed = err.Error()
			case i > 0:
				took[side] = append(took[side], time.Since(begin))
			}
		}
	}
	for side, to := range []*time.Duration{&t.raw, &t.private} {
		if n := len(took[side]); n > 0 {
			slices.Sort(took[side])
			*to = took[side][n/2]
		}
	}
	if private != nil {
		b.say("%s on %s, %s: %.2f %s", t.name, t.data, t.kind, t.ratio(), t.failed)
	}
	return nil
}

// duckTimes measures all raw statements first: one file cannot be open twice with different settings.
func (b *bench) duckTimes(ctx context.Context, d *dataset, list []timed) (out []*timing, err error) {
	path, err := b.duckFile(d)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("duckdb", path+"?access_mode=READ_ONLY")
	if err != nil {
		return nil, err
	}
	raw := func(text string) error {
		rows, err := db.QueryContext(ctx, text)
		if err != nil {
			return err
		}
		for rows.Next() {
			continue
		}
		return errors.Join(rows.Err(), rows.Close())
	}
	for _, t := range list {
		r := &timing{name: t.name, data: d.name, kind: "duckdb"}
		if err := r.ask(b, raw, nil, t.sql); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", t.name, err), db.Close())
		}
		out = append(out, r)
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	p, err := duckdb.Open(ctx, path, duckdb.Options{})
	if err != nil {
		return nil, err
	}
	private, stop, err := b.asker(ctx, d, "duckdb", path, p)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	defer func() { err = errors.Join(err, stop()) }()
	for i, t := range list {
		if err := out[i].ask(b, nil, private, t.sql); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// asker asks through the engine: analysed, charged, committed.
func (b *bench) asker(ctx context.Context, d *dataset, kind, where string, over backend.Backend) (ask func(string) error, stop func() error, err error) {
	p, err := b.policyOf(d, kind, where, "epsilon: 10000, delta: 1e-7", "epsilon: 1")
	if err != nil {
		return nil, nil, err
	}
	s, stop, err := b.session(ctx, p, over)
	if err != nil {
		return nil, nil, err
	}
	return func(text string) error {
		list, err := pgsyntax.Parse(text)
		if err != nil {
			return err
		}
		st, err := engine.Prepare(ctx, s, list[0], nil)
		if err != nil {
			return err
		}
		_, err = st.Run(ctx, nil)
		return err
	}, stop, nil
}

// duckFile is a DuckDB file of a scale factor with its keys, kept in the cache.
func (b *bench) duckFile(d *dataset) (string, error) {
	path := filepath.Join(b.cache, d.name+".duckdb")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return path, err
	}
	dir, err := b.tpchFolder(d)
	if err != nil {
		return "", err
	}
	b.say("loading %s into DuckDB", d.name)
	if err := os.MkdirAll(b.cache, 0o750); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(b.cache, ".duck-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(part) }()
	file := filepath.Join(part, "db")
	db, err := sql.Open("duckdb", file)
	if err != nil {
		return "", err
	}
	for _, s := range duckStatements(dir) {
		if _, err := db.Exec(s); err != nil {
			return "", errors.Join(fmt.Errorf("%w\n%s", err, s), db.Close())
		}
	}
	if err := db.Close(); err != nil {
		return "", err
	}
	return path, os.Rename(file, path)
}

func duckStatements(dir string) []string {
	out := []string{calendar, "ALTER TABLE calendar ADD PRIMARY KEY (day)"}
	for _, t := range []struct{ name, key string }{{"region", "r_regionkey"}, {"nation", "n_nationkey"}, {"supplier", "s_suppkey"}, {"customer", "c_custkey"},
		{"orders", "o_orderkey"}, {"lineitem", ""}} {
		types := ""
		if t.name == "lineitem" {
			types = ", types = {'l_quantity': 'DECIMAL(15,2)', 'l_extendedprice': 'DECIMAL(15,2)', 'l_discount': 'DECIMAL(15,2)', 'l_tax': 'DECIMAL(15,2)'}"
		}
		out = append(out, fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM read_csv('%s'%s)", t.name, filepath.Join(dir, t.name+".csv.gz"), types))
		if t.key != "" {
			out = append(out, fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY (%s)", t.name, t.key))
		}
	}
	for _, c := range []string{"l_quantity", "l_extendedprice", "l_discount", "l_tax"} { // so that averages share the count of rows
		out = append(out, "ALTER TABLE lineitem ALTER COLUMN "+c+" SET NOT NULL")
	}
	return out
}
