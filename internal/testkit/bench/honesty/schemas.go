package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// schema is a database with the person whom its policy protects.
type schema struct {
	name       string
	shipped    bool   // the demo's own policy, in place of init's
	unit       string // table.column, as `dpsql init --unit` takes it
	edits      []edit // what `dpsql check` demands of init's policy, and no more
	path       string // the SQL that leads from a row to its person, where a statement says nothing else
	load       func(b *bench, db string) error
	files      []fileTable
	from       string // the folder of the shared data
	statements string // the list of them; "": statements/NAME.sql
}

// edit is one change of init's policy. The reason is the mistake that `dpsql check` finds without it.
type edit struct{ old, with, reason string }

// public lists a look-up table that init offers.
func public(name string) edit {
	return edit{"  # " + name + ": {public: true}", "  " + name + ": {public: true}", "a look-up table that statements join, as init offers it"}
}

// unlisted lists a table as public that init does not know to be nobody's.
func unlisted(name string) edit {
	return edit{"\nbudget:\n", "  " + name + ": {public: true}\n\nbudget:\n", "a table of the benchmark that statements join, whose rows are nobody's"}
}

// fileTable is a table that is filled from a CSV file, before its keys are made.
type fileTable struct{ name, file, columns, into, after string }

var schemas = []*schema{
	{name: "demo", unit: "patients.patient_id", path: "patient_id", edits: []edit{public("admission_types"), public("discharges"), public("admission_sources")}, load: loadDemo},
	{name: "clinic", shipped: true, path: "patient_id", load: loadDemo},
	{name: "shop", unit: "customers.customer_id", path: "coalesce(customer_id, -order_id)", edits: []edit{public("products")}, load: loadShop},
	{name: "trips", unit: "riders.rider_id", path: "rider_id", edits: []edit{public("zones")}, load: loadTrips},
	{name: "sakila", unit: "customer.customer_id", path: "customer_id", edits: []edit{
		{"    unit: customer_id -> customer.customer_id\n    # dpsql check refuses", "    unit: \"(customer_id, rental_id) -> rental.(customer_id, rental_id)\"\n    # dpsql check refuses", "payment: a second way to a person, which is always the same person"},
		public("film")}, load: func(b *bench, db string) error {
		return errors.Join(b.pg.LoadSakila(db), b.pg.GrantReader(db))
	}},
	{name: "tpch", unit: "customer.c_custkey", path: "o_custkey", edits: []edit{unlisted("nation"), unlisted("region"), unlisted("supplier"), unlisted("part")}, from: "tpch-sf0.1", load: func(b *bench, db string) error {
		dir, err := b.folder("tpch-sf0.1")
		if err != nil {
			return err
		}
		return b.pg.LoadTPCH(db, dir)
	}},
	{name: "retail", unit: "customers.customer_id", path: "coalesce(customer_id, -line_id)", from: "online-retail-2", files: []fileTable{
		{name: "lines", file: "online_retail_2_2009_2010.csv.gz", columns: `line_id bigint GENERATED ALWAYS AS IDENTITY, invoice text, stock_code text, description text, quantity integer NOT NULL,
			invoice_date timestamp NOT NULL, price numeric(10,3) NOT NULL, customer_id integer, country text`,
			into: `(invoice, stock_code, description, quantity, invoice_date, price, customer_id, country)`,
			after: `CREATE TABLE customers AS SELECT DISTINCT customer_id FROM lines WHERE customer_id IS NOT NULL; ALTER TABLE customers ADD PRIMARY KEY (customer_id);
			ALTER TABLE lines ADD PRIMARY KEY (line_id), ADD FOREIGN KEY (customer_id) REFERENCES customers`},
	}},
	{name: "hospital", unit: "patients.patient_id", path: "patient_id", edits: []edit{
		{"    unit: patient_id -> patients.patient_id\n    # dpsql check refuses", "    unit: \"(patient_id, encounter_id) -> encounters.(patient_id, encounter_id)\"\n    # dpsql check refuses", "procedures: a second way to a person, which is always the same person"},
		public("payers")}, from: "hospital-demo", files: []fileTable{
		{name: "payers", file: "payers.csv.gz", columns: "payer_id integer PRIMARY KEY, name text NOT NULL, state text"},
		{name: "patients", file: "patients.csv.gz", columns: `patient_id integer PRIMARY KEY, birth_date date NOT NULL, death_date date, marital text, race text, ethnicity text, gender text,
			city text, county text, zip text`},
		{name: "encounters", file: "encounters.csv.gz", columns: `encounter_id integer PRIMARY KEY, patient_id integer NOT NULL, payer_id integer NOT NULL, start_ts timestamp NOT NULL, stop_ts timestamp,
			encounter_class text, code text, description text, base_cost numeric(12,2) NOT NULL, total_claim_cost numeric(12,2) NOT NULL, payer_coverage numeric(12,2), reason_code text, reason text`,
			after: "ALTER TABLE encounters ADD FOREIGN KEY (patient_id) REFERENCES patients, ADD FOREIGN KEY (payer_id) REFERENCES payers"},
		{name: "procedures", file: "procedures.csv.gz", columns: `procedure_id integer PRIMARY KEY, encounter_id integer NOT NULL, patient_id integer NOT NULL, start_ts timestamp NOT NULL, stop_ts timestamp,
			code text, description text, base_cost numeric(12,2) NOT NULL, reason_code text, reason text`,
			after: "ALTER TABLE procedures ADD FOREIGN KEY (encounter_id) REFERENCES encounters, ADD FOREIGN KEY (patient_id) REFERENCES patients"},
	}},
	{name: "adult", unit: "adult.person_id", path: "person_id", from: "adult", load: loadAdult},
}

func loadDemo(b *bench, db string) error { return b.pg.LoadDemo(db) }

// folder is one of the shared data.
func (b *bench) folder(name string) (string, error) {
	dir := filepath.Join(b.data, name)
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("%s is needed (%w): say where the shared data is with -data or DPSQL_BENCH_DATA", dir, err)
	}
	return dir, nil
}

// fill makes a schema's database.
func (s *schema) fill(b *bench) error {
	if s.load != nil {
		return s.load(b, s.name)
	}
	dir, err := b.folder(s.from)
	if err != nil {
		return err
	}
	if err := b.pg.CreateDB(s.name); err != nil {
		return err
	}
	for _, t := range s.files {
		if err := b.pg.Exec(s.name, fmt.Sprintf("CREATE TABLE %s (%s)", t.name, t.columns)); err != nil {
			return err
		}
		if err := b.pg.CopyFile(s.name, t.name+t.into, filepath.Join(dir, t.file)); err != nil {
			return err
		}
		if err := b.pg.Exec(s.name, t.after); err != nil {
			return err
		}
	}
	return b.pg.GrantReader(s.name)
}

// loadAdult makes one row a person of the census file, which has neither header nor key.
func loadAdult(b *bench, db string) (err error) {
	dir, err := b.folder("adult")
	if err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(dir, "adult.data.gz"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		row := strings.Split(line, ", ")
		if len(row) != 15 {
			continue
		}
		for j, v := range row {
			if v == "?" {
				row[j] = ""
			}
		}
		if err := w.Write(append([]string{fmt.Sprint(i + 1)}, row...)); err != nil {
			return err
		}
	}
	w.Flush()
	return b.copied(db, []copied{{"adult", `person_id integer PRIMARY KEY, age integer NOT NULL CHECK (age BETWEEN 0 AND 120), workclass text, fnlwgt integer NOT NULL, education text NOT NULL,
		education_num integer NOT NULL, marital text NOT NULL, occupation text, relationship text NOT NULL, race text NOT NULL, sex text NOT NULL CHECK (sex IN ('Male', 'Female')),
		capital_gain integer NOT NULL, capital_loss integer NOT NULL, hours_per_week integer NOT NULL CHECK (hours_per_week BETWEEN 1 AND 99), native_country text,
		income text NOT NULL CHECK (income IN ('<=50K', '>50K'))`, out.String()}}, "")
}

// copied is a table with its rows as CSV without a header.
type copied struct{ name, columns, rows string }

// copied makes a database of tables that this program wrote, and runs what follows.
func (b *bench) copied(db string, tables []copied, after string) error {
	if err := b.pg.CreateDB(db); err != nil {
		return err
	}
	for _, t := range tables {
		if err := b.pg.Exec(db, fmt.Sprintf("CREATE TABLE %s (%s)", t.name, t.columns)); err != nil {
			return err
		}
		if err := b.pg.CopyText(db, t.name, strings.NewReader(t.rows)); err != nil {
			return err
		}
	}
	if after != "" {
		if err := b.pg.Exec(db, after); err != nil {
			return err
		}
	}
	return b.pg.GrantReader(db)
}
