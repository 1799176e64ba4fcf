// Command accuracy reproduces the numbers of docs/accuracy.md and docs/bounds.md: each question is scanned once, then answers are
// drawn from that scan (choice of the bounds and noise anew), beside the exact answer, the best fixed bound and
// Race-to-the-Top. It needs PostgreSQL (make deps), the shared data, and for TPC-H at SF 1 and 2 about 1 GB of cache.
//
//	go run ./internal/testkit/bench/accuracy [-only REGEXP] [-draws N] [-time=false]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/bench/baseline"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	home, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	data := os.Getenv("DPSQL_BENCH_DATA")
	if data == "" {
		data = filepath.Join("..", "shared", "data")
	}
	b := &bench{loaded: map[string]bool{}, random: baseline.NewRandom(), begin: time.Now()}
	flag.StringVar(&b.data, "data", data, "the folder with hospital-demo, online-retail-2 and tpch-sf0.1 (DPSQL_BENCH_DATA)")
	flag.StringVar(&b.cache, "cache", filepath.Join(home, "dpsql-bench"), "where generated data is kept")
	flag.StringVar(&b.docs, "docs", "docs", "where accuracy.md, bounds.md, tables and figures are written")
	flag.IntVar(&b.draws, "draws", 1000, "answers drawn from each scan")
	flag.BoolVar(&b.fixed, "fixed", false, "under the policies' guessed bounds in place of automatic ones; nothing is written")
	only := flag.String("only", "", "only the questions whose name matches; nothing is written but to standard output")
	times := flag.Bool("time", true, "measure times too")
	part := flag.String("part", "", "bounds: the questions, times and fixed bounds alone; joins: the joins alone; skew: docs/joins.md's figures alone; kinds: its table of few people alone; nothing: all")
	port := flag.Int("port", 0, "a PostgreSQL on 127.0.0.1, superuser postgres without a password, in place of one of the run's own; what it has is not loaded again")
	serve := flag.Bool("serve", false, "start such a PostgreSQL, load everything and keep it until standard input ends")
	flag.Parse()
	if b.only, err = regexp.Compile(*only); err != nil {
		return err
	}
	if b.verifier, err = policy.MakeVerifier("bench", policy.DefaultIterations); err != nil {
		return err
	}
	ctx := context.Background()
	if *part == "skew" || *part == "" && *only == "" && !b.fixed && !*serve {
		if err := b.skew(ctx, true); err != nil || *part == "skew" {
			return err
		}
	}
	if *part == "kinds" || *part == "" && *only == "" && !b.fixed && !*serve {
		if err := b.kinds(ctx, true); err != nil || *part == "kinds" {
			return err
		}
	}
	if *part != "joins" { // which makes its own
		if err := b.found(); err != nil {
			return err
		}
	}
	if *part != "bounds" && !b.fixed && !*serve {
		if err := b.joins(ctx, *only == ""); err != nil || *part == "joins" {
			return err
		}
	}
	if *port > 0 {
		b.pg = &pgtest.Server{Port: *port}
	} else {
		pg, stop, err := pgtest.StartShared()
		if err != nil {
			return err
		}
		defer stop()
		b.pg = pg
	}
	if *serve {
		return b.serve()
	}
	report, err := b.questions(ctx)
	if err != nil {
		return err
	}
	if report.reasons, err = readReasons(filepath.Join(b.docs, "accuracy", "reasons.csv")); err != nil {
		return err
	}
	report.print(os.Stdout)
	if *times {
		if report.times, err = b.times(ctx); err != nil {
			return err
		}
		report.printTimes(os.Stdout)
	}
	if *only != "" || b.fixed {
		return nil
	}
	bounds, err := b.bounds(ctx, report)
	if err != nil {
		return err
	}
	return errors.Join(report.write(b.docs), bounds.write(b.docs))
}

// found tells at once which folder of the shared data is not there.
func (b *bench) found() error {
	for _, d := range datasets {
		if d.folder == "" {
			continue
		}
		asked := b.only.MatchString(d.name) || slices.ContainsFunc(questions, func(q question) bool { return q.data == d.name && b.only.MatchString(q.id) }) ||
			slices.ContainsFunc(timedOf(d), func(t timed) bool { return d.sf > 0 && b.only.MatchString(t.name) })
		if _, err := b.shared(d); asked && err != nil {
			return err
		}
	}
	return nil
}

// serve keeps a loaded server for runs with -port.
func (b *bench) serve() error {
	for _, d := range datasets {
		if !b.only.MatchString(d.name) {
			continue
		}
		if err := b.ready(d); err != nil {
			return err
		}
	}
	fmt.Printf("go run ./internal/testkit/bench/accuracy -port %d\n", b.pg.Port)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}
