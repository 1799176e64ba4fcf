package demo

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Table is one file as a table.
type Table struct {
	Name        string
	Columns     []Column // in the file's order
	PrimaryKey  string   // a column, or ""
	ForeignKeys []ForeignKey
}

// Column is one column; NotNull where the file has no empty value.
type Column struct {
	Name    string
	Type    sqltype.Type
	NotNull bool
}

// ForeignKey says that Column holds values of RefColumn in table Ref.
type ForeignKey struct{ Column, Ref, RefColumn string }

// File is the name of the table's file in FS.
func (t Table) File() string { return t.Name + ".csv.gz" }

// Tables lists the tables in an order in which foreign keys can be checked while loading.
var Tables = []Table{
	lookUp("admission_types"),
	lookUp("discharges"),
	lookUp("admission_sources"),
	{
		Name: "patients",
		Columns: []Column{
			{"patient_id", sqltype.Int4, true},
			{"gender", sqltype.Text, false},
			{"race", sqltype.Text, false},
		},
		PrimaryKey: "patient_id",
	},
	{
		Name: "encounters",
		Columns: []Column{
			{"encounter_id", sqltype.Int4, true},
			{"patient_id", sqltype.Int4, true},
			{"age_band", sqltype.Text, true},
			{"days_in_hospital", sqltype.Int4, true},
			{"admission_type_id", sqltype.Int4, true},
			{"discharge_id", sqltype.Int4, true},
			{"admission_source_id", sqltype.Int4, true},
			{"payer_code", sqltype.Text, false},
			{"medical_specialty", sqltype.Text, false},
			{"lab_procedures", sqltype.Int4, true},
			{"procedures", sqltype.Int4, true},
			{"medications", sqltype.Int4, true},
			{"prior_outpatient", sqltype.Int4, true},
			{"prior_emergency", sqltype.Int4, true},
			{"prior_inpatient", sqltype.Int4, true},
			{"diag_1", sqltype.Text, false},
			{"diagnoses", sqltype.Int4, true},
			{"max_glu_serum", sqltype.Text, false},
			{"a1c", sqltype.Text, false},
			{"med_change", sqltype.Bool, true},
			{"diabetes_med", sqltype.Bool, true},
			{"readmitted", sqltype.Text, true},
		},
		PrimaryKey: "encounter_id",
		ForeignKeys: []ForeignKey{
			{"patient_id", "patients", "patient_id"},
			{"admission_type_id", "admission_types", "id"},
			{"discharge_id", "discharges", "id"},
			{"admission_source_id", "admission_sources", "id"},
		},
	},
	{
		Name: "prescriptions",
		Columns: []Column{
			{"encounter_id", sqltype.Int4, true},
			{"patient_id", sqltype.Int4, true},
			{"drug", sqltype.Text, true},
			{"dose_change", sqltype.Text, true},
		},
		// patient_id is declared no foreign key: a table has one path to the unit, and here it leads through encounters.
		ForeignKeys: []ForeignKey{{"encounter_id", "encounters", "encounter_id"}},
	},
}

func lookUp(name string) Table {
	return Table{
		Name:       name,
		Columns:    []Column{{"id", sqltype.Int4, true}, {"description", sqltype.Text, false}},
		PrimaryKey: "id",
	}
}

// DDL is the CREATE TABLE statement, the same for PostgreSQL and DuckDB.
func (t Table) DDL() string {
	var parts []string
	for _, c := range t.Columns {
		def := fmt.Sprintf("%q %s", c.Name, c.Type)
		if c.NotNull {
			def += " NOT NULL"
		}
		parts = append(parts, def)
	}
	if t.PrimaryKey != "" {
		parts = append(parts, fmt.Sprintf("PRIMARY KEY (%q)", t.PrimaryKey))
	}
	for _, k := range t.ForeignKeys {
		parts = append(parts, fmt.Sprintf("FOREIGN KEY (%q) REFERENCES %q (%q)", k.Column, k.Ref, k.RefColumn))
	}
	return fmt.Sprintf("CREATE TABLE %q (\n  %s\n)", t.Name, strings.Join(parts, ",\n  "))
}
