//go:build tpchgen

// Command tpchgen writes TPC-H's or TPC-DS's tables at a scale factor as gzipped CSV files, offline: by the generators that DuckDB's
// extensions bring, which the Go module links but does not register. With -texts it writes the texts of both benchmarks' queries in place
// of tables, as testdata/corpus keeps them. It is built only for these, with the tag tpchgen.
//
//	go run -tags tpchgen ./internal/testkit/bench/tpchgen -sf 1 -out DIR
//	go run -tags tpchgen ./internal/testkit/bench/tpchgen -ds -sf 0.1 -out DIR
//	go run -tags tpchgen ./internal/testkit/bench/tpchgen -texts testdata/corpus
package main

/*
int tpchgen_register(void *database);
*/
import "C"

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// version is the one whose layout init.cpp knows.
const version = "v1.5.5"

var tables = map[string][]string{
	"dbgen": {"region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem"},
	"dsdgen": {"call_center", "catalog_page", "catalog_returns", "catalog_sales", "customer", "customer_address", "customer_demographics", "date_dim",
		"household_demographics", "income_band", "inventory", "item", "promotion", "reason", "ship_mode", "store", "store_returns", "store_sales",
		"time_dim", "warehouse", "web_page", "web_returns", "web_sales", "web_site"},
}

func main() {
	ds := flag.Bool("ds", false, "TPC-DS in place of TPC-H")
	sf := flag.Float64("sf", 1, "scale factor")
	out := flag.String("out", "", "folder that gets <table>.csv.gz")
	texts := flag.String("texts", "", "folder that gets tpch/qNN.sql and tpcds/qNN.sql, in place of tables")
	flag.Parse()
	var err error
	if *texts != "" {
		err = queries(*texts)
	} else {
		err = generate(map[bool]string{false: "dbgen", true: "dsdgen"}[*ds], *sf, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tpchgen:", err)
		os.Exit(1)
	}
}

// generate writes into a folder beside out and renames it, so that a folder that is there is whole.
func generate(generator string, sf float64, out string) error {
	if out == "" || strings.ContainsRune(out, '\'') {
		return errors.New("-out must name a folder, without quotes in its name")
	}
	if v := duckdb.LibraryVersion(); v != version {
		return fmt.Errorf("DuckDB is %s; the layout of %s is what init.cpp knows", v, version)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(out), ".tpchgen-")
	if err != nil {
		return err
	}
	if err := write(generator, sf, part); err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	if err := os.Chmod(part, 0o755); err != nil {
		return err
	}
	return os.Rename(part, out)
}

func write(generator string, sf float64, dir string) error {
	return with(func(conn duckdb.Connection) error {
		if err := run(conn, fmt.Sprintf("CALL %s(sf=%g)", generator, sf)); err != nil {
			return err
		}
		for _, t := range tables[generator] {
			if err := run(conn, fmt.Sprintf("COPY %s TO '%s' (FORMAT csv, HEADER, COMPRESSION gzip)", t, filepath.Join(dir, t+".csv.gz"))); err != nil {
				return err
			}
		}
		return nil
	})
}

// queries writes the benchmarks' queries, one a file.
func queries(dir string) error {
	if v := duckdb.LibraryVersion(); v != version {
		return fmt.Errorf("DuckDB is %s; the layout of %s is what init.cpp knows", v, version)
	}
	return with(func(conn duckdb.Connection) error {
		for _, bench := range []string{"tpch", "tpcds"} {
			to := filepath.Join(dir, bench)
			if err := os.MkdirAll(to, 0o755); err != nil {
				return err
			}
			if err := texts(conn, bench, to); err != nil {
				return err
			}
		}
		return nil
	})
}

func texts(conn duckdb.Connection, bench, to string) (err error) {
	list := filepath.Join(to, "queries.json")
	if err := run(conn, fmt.Sprintf("COPY (SELECT query_nr, query FROM %s_queries()) TO '%s' (FORMAT json)", bench, list)); err != nil {
		return err
	}
	f, err := os.Open(list)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(list)) }()
	for d := json.NewDecoder(f); d.More(); {
		var q struct {
			Nr    int    `json:"query_nr"`
			Query string `json:"query"`
		}
		if err := d.Decode(&q); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, fmt.Sprintf("q%02d.sql", q.Nr)), []byte(strings.TrimSpace(q.Query)+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// with opens a database in memory that has both generators.
func with(do func(duckdb.Connection) error) error {
	var db duckdb.Database
	if duckdb.Open("", &db) == duckdb.StateError {
		return errors.New("DuckDB does not open")
	}
	defer duckdb.Close(&db)
	if C.tpchgen_register(db.Ptr) != 0 {
		return errors.New("the extensions tpch and tpcds do not register")
	}
	var conn duckdb.Connection
	if duckdb.Connect(db, &conn) == duckdb.StateError {
		return errors.New("DuckDB does not connect")
	}
	defer duckdb.Disconnect(&conn)
	return do(conn)
}

func run(conn duckdb.Connection, sql string) error {
	var res duckdb.Result
	state := duckdb.Query(conn, sql, &res)
	defer duckdb.DestroyResult(&res)
	if state == duckdb.StateError {
		return fmt.Errorf("%s: %s", sql, duckdb.ResultError(&res))
	}
	return nil
}
