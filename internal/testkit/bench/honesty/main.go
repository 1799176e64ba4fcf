// Command honesty measures how often the interval that dpsql shows, dp_low to dp_high, holds the plain SQL answer of the raw data. Each statement of
// statements/*.sql is asked of a real PostgreSQL through the engine that answers analysts, under the policy that `dpsql init` writes. It writes docs/honesty/ and
// a section of docs/accuracy.md. It needs PostgreSQL (make deps) and the shared data.
//
//	go run ./internal/testkit/bench/honesty [-draws N] [-schema REGEXP] [-statement REGEXP] [-prices 0.1,0.5,2]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "honesty:", err)
		os.Exit(1)
	}
}

func run() error {
	data := os.Getenv("DPSQL_BENCH_DATA")
	if data == "" {
		data = filepath.Join("..", "shared", "data")
	}
	b := &bench{begin: time.Now()}
	flag.StringVar(&b.data, "data", data, "the folder with hospital-demo, online-retail-2, adult and tpch-sf0.1 (DPSQL_BENCH_DATA)")
	flag.IntVar(&b.draws, "draws", 400, "answers drawn of each statement at each price")
	of := flag.String("schema", "", "only schemas whose name matches; nothing is written but to standard output and -csv")
	name := flag.String("statement", "", "only statements whose name matches; nothing is written but to standard output and -csv")
	flag.BoolVar(&b.cells, "cells", false, "print the largest cells of each statement, and what its last answer said")
	at := flag.String("prices", "0.1,0.5,2", "prices of a statement")
	csv := flag.String("csv", "", "write the rows of the table to this file too")
	docs := flag.String("docs", "docs", "where honesty/ and accuracy.md are written")
	port := flag.Int("port", 0, "a PostgreSQL on 127.0.0.1, superuser postgres without a password, in place of one of the run's own; what it has is not loaded again")
	parallel := flag.Int("parallel", runtime.NumCPU(), "how many schemas are measured at once")
	serve := flag.Bool("serve", false, "start such a PostgreSQL, load the schemas and keep it until standard input ends")
	policies := flag.Bool("policies", false, "print the schemas' policies and what dpsql check says of them, and end")
	dir := flag.String("others", "", "a folder of other schemas, in place of ours: NAME.sql and NAME.statements.sql (others.go); nothing is written but to standard output and -csv")
	from := flag.String("from", "", "write the page and the figures of such a file in place of asking")
	flag.Parse()
	if *from != "" {
		results, err := readCSV(*from)
		if err != nil {
			return err
		}
		return write(*docs, results)
	}
	if *dir != "" {
		var err error
		if schemas, err = others(*dir); err != nil {
			return err
		}
	}
	only, err := regexp.Compile(*of)
	if err != nil {
		return err
	}
	named, err := regexp.Compile(*name)
	if err != nil {
		return err
	}
	var prices []float64
	for _, p := range strings.Split(*at, ",") {
		x, err := strconv.ParseFloat(p, 64)
		if err != nil {
			return err
		}
		prices = append(prices, x)
	}
	if *port > 0 {
		b.pg = &pgtest.Server{Port: *port}
	} else {
		pg, stop, err := pgtest.StartShared("work_mem=64MB", "shared_buffers=512MB")
		if err != nil {
			return err
		}
		defer stop()
		b.pg = pg
	}
	ctx := context.Background()
	// Schemas are measured beside each other: a process of PostgreSQL works for one statement at a time.
	lists, errs := make([][]*result, len(schemas)), make([]error, len(schemas))
	var all sync.WaitGroup
	var saving sync.Mutex
	turns := make(chan bool, max(1, *parallel))
	for i, s := range schemas {
		if !only.MatchString(s.name) {
			continue
		}
		turns <- true
		all.Go(func() {
			defer func() { <-turns }()
			if errs[i] = b.ready(ctx, s); errs[i] != nil || *serve {
				return
			}
			if *policies {
				text, err := b.policy(ctx, s)
				fmt.Printf("%s\n%v\n", text, err)
				return
			}
			list, err := b.schema(ctx, s, named, prices)
			saving.Lock()
			defer saving.Unlock()
			if lists[i], errs[i] = list, err; *csv != "" { // a long run may be cut
				errs[i] = errors.Join(err, writeCSV(*csv, slices.Concat(lists...)))
			}
		})
	}
	all.Wait()
	results := slices.Concat(lists...)
	err = errors.Join(errs...)
	if *serve {
		fmt.Printf("go run ./internal/testkit/bench/honesty -port %d\n", b.pg.Port)
		_, ended := io.Copy(io.Discard, os.Stdin)
		return errors.Join(err, ended)
	}
	if *policies {
		return err
	}
	fmt.Print(table(results), "\n", summaryTable(results))
	if *of == "" && *name == "" && *dir == "" {
		err = errors.Join(err, write(*docs, results))
	}
	return err
}

// schema measures the statements of a schema.
func (b *bench) schema(ctx context.Context, s *schema, only *regexp.Regexp, prices []float64) (out []*result, err error) {
	list, err := statementsOf(s)
	if err != nil {
		return nil, err
	}
	w, err := b.open(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	for _, st := range list {
		if !only.MatchString(st.name) {
			continue
		}
		begin := time.Now()
		results, err := b.statement(ctx, w, st, prices)
		if err != nil { // a statement that is refused or fails is a row of the report
			b.say("%s: %s: %v", s.name, st.name, err)
			results = []*result{{schema: s.name, statement: st.name, note: err.Error(), covered: math.NaN(), coveredTop: math.NaN()}}
		}
		out = append(out, results...)
		var covered []string
		for _, r := range results {
			covered = append(covered, percent(r.covered))
		}
		b.say("%s: %s: %s (%.1f s, %d prints)", s.name, st.name, strings.Join(covered, ", "), time.Since(begin).Seconds(), w.kept.asked)
	}
	return out, nil
}

func (b *bench) statement(ctx context.Context, w *world, st *statement, prices []float64) (out []*result, err error) {
	a, err := st.prepare(ctx, w)
	if err != nil {
		return nil, err
	}
	f, err := b.facts(ctx, st)
	if err != nil {
		return nil, err
	}
	defer w.kept.forget()
	for _, price := range prices {
		n, err := noisesAt(w.filter, price)
		if err != nil {
			return nil, err
		}
		list, err := b.measure(ctx, w, f, a, price, n)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// ready loads a schema into PostgreSQL, once a server.
func (b *bench) ready(ctx context.Context, s *schema) error {
	rows, err := b.raw(ctx, "postgres", "SELECT 1 FROM pg_database WHERE datname = '"+s.name+"'")
	if err != nil || len(rows) > 0 {
		return err
	}
	b.say("loading %s into PostgreSQL", s.name)
	if err := s.fill(b); err != nil {
		return fmt.Errorf("loading %s: %w", s.name, err)
	}
	return nil
}
