package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// dataset is one database of the bench.
type dataset struct {
	name    string
	private []string // tables of people
	policy  string   // see policyText
	load    func(b *bench, d *dataset) error
	folder  string  // of the shared data, where it has one
	sf      float64 // of TPC-H
}

var datasets = []*dataset{
	{name: "diabetes", private: []string{"patients", "encounters"}, policy: diabetesPolicy, load: loadDiabetes},
	{name: "hospital", private: []string{"patients", "encounters"}, policy: hospitalPolicy, load: loadTables, folder: "hospital-demo"},
	{name: "retail", private: []string{"customers", "lines"}, policy: retailPolicy, load: loadTables, folder: "online-retail-2"},
	tpch(0.1), tpch(1), tpch(2),
}

func tpch(sf float64) *dataset {
	d := &dataset{name: fmt.Sprintf("tpch_sf%g", sf), private: []string{"customer", "orders", "lineitem"}, load: loadTPCH, sf: sf,
		policy: fmt.Sprintf(tpchPolicy, int(150_000*sf))}
	if sf == 0.1 {
		d.folder = "tpch-sf0.1"
	}
	return d
}

func datasetOf(name string) *dataset {
	for _, d := range datasets {
		if d.name == name {
			return d
		}
	}
	panic("no data set " + name)
}

// calendar holds the hundred days that a question groups by.
const calendar = `CREATE TABLE calendar AS SELECT CAST(d AS date) AS day FROM generate_series(TIMESTAMP '1995-01-01', TIMESTAMP '1995-04-10', INTERVAL '1 day') AS s(d)`

// loadDiabetes loads the demo's tables, which are inside the program and the same as diabetes-demo.
func loadDiabetes(b *bench, d *dataset) error { return b.pg.LoadDemo(d.name) }

func loadTPCH(b *bench, d *dataset) error {
	dir, err := b.tpchFolder(d)
	if err != nil {
		return err
	}
	if err := b.pg.LoadTPCH(d.name, dir); err != nil {
		return err
	}
	return b.pg.Exec(d.name, calendar+`; ALTER TABLE calendar ADD PRIMARY KEY (day); GRANT SELECT ON calendar TO `+pgtest.Reader+`; ANALYZE calendar`)
}

// tpchFolder is the folder of a scale factor's files: the shared data's, or the cache's, made where it is not there.
func (b *bench) tpchFolder(d *dataset) (string, error) {
	if d.folder != "" {
		return b.shared(d)
	}
	dir := filepath.Join(b.cache, fmt.Sprintf("tpch-sf%g", d.sf))
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return dir, err
	}
	b.say("generating TPC-H SF %g into %s", d.sf, dir)
	cmd := exec.Command("nice", "go", "run", "-tags", "tpchgen", "./internal/testkit/bench/tpchgen", "-sf", fmt.Sprint(d.sf), "-out", dir)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return dir, cmd.Run()
}

func (b *bench) shared(d *dataset) (string, error) {
	dir := filepath.Join(b.data, d.folder)
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("%s is needed, and is not there (%w): say where the shared data is with -data or DPSQL_BENCH_DATA", dir, err)
	}
	return dir, nil
}

// fileTable is a table made from a CSV file.
type fileTable struct{ name, file, columns, copied, after string }

var fileTables = map[string][]fileTable{
	"hospital": {
		{name: "patients", file: "patients.csv.gz", columns: `patient_id integer NOT NULL, birth_date date, death_date date, marital text, race text, ethnicity text, gender text,
			city text, county text, zip text`, after: `ALTER TABLE patients ADD PRIMARY KEY (patient_id)`},
		{name: "encounters", file: "encounters.csv.gz", columns: `encounter_id integer NOT NULL, patient_id integer NOT NULL, payer_id integer, start_ts timestamp, stop_ts timestamp,
			encounter_class text, code text, description text, base_cost numeric(12,2) NOT NULL, total_claim_cost numeric(12,2) NOT NULL, payer_coverage numeric(12,2), reason_code text, reason text`,
			after: `ALTER TABLE encounters ADD PRIMARY KEY (encounter_id), ADD FOREIGN KEY (patient_id) REFERENCES patients; CREATE INDEX ON encounters (patient_id)`},
	},
	"retail": {
		{name: "lines", file: "online_retail_2_2009_2010.csv.gz", columns: `line_id bigint GENERATED ALWAYS AS IDENTITY, invoice text, stock_code text, description text, quantity integer NOT NULL,
			invoice_date timestamp, price numeric(10,3) NOT NULL, customer_id integer, country text`,
			copied: `(invoice, stock_code, description, quantity, invoice_date, price, customer_id, country)`,
			after: `CREATE TABLE customers AS SELECT DISTINCT customer_id FROM lines WHERE customer_id IS NOT NULL; ALTER TABLE customers ADD PRIMARY KEY (customer_id);
			ALTER TABLE lines ADD PRIMARY KEY (line_id), ADD FOREIGN KEY (customer_id) REFERENCES customers`},
	},
}

// loadTables makes a database of a folder of CSV files.
func loadTables(b *bench, d *dataset) error {
	dir, err := b.shared(d)
	if err != nil {
		return err
	}
	if err := b.pg.CreateDB(d.name); err != nil {
		return err
	}
	for _, t := range fileTables[d.name] {
		if err := b.pg.Exec(d.name, fmt.Sprintf("CREATE TABLE %s (%s)", t.name, t.columns)); err != nil {
			return err
		}
		if err := b.pg.CopyFile(d.name, t.name+t.copied, filepath.Join(dir, t.file)); err != nil {
			return err
		}
		if err := b.pg.Exec(d.name, t.after); err != nil {
			return err
		}
	}
	return b.pg.GrantReader(d.name)
}

// ready loads a data set into PostgreSQL, once a server.
func (b *bench) ready(d *dataset) error {
	if b.loaded[d.name] {
		return nil
	}
	rows, err := b.raw("postgres", "SELECT 1 FROM pg_database WHERE datname = '"+d.name+"'")
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		b.say("loading %s into PostgreSQL", d.name)
		if err := d.load(b, d); err != nil {
			return fmt.Errorf("loading %s: %w", d.name, err)
		}
	}
	b.loaded[d.name] = true
	return nil
}
