package main

import (
	"crypto/sha256"
	"path/filepath"
	"slices"
	"strconv"
)

// diabetes is readmission within 30 days, the unit a patient, of whom most encounters are trained on: a fifth of the patients, picked by a hash, are the test.
func diabetes(folder string, most int) (*set, error) {
	records, err := zipped(filepath.Join(folder, "diabetes130", "dataset_diabetes.zip"), "dataset_diabetes/diabetic_data.csv", ',')
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i, name := range records[0] {
		at[name] = i
	}
	cat := func(name string) *column { return &column{name: name} }
	columns := []*column{cat("race"), cat("gender"), cat("age"), cat("admission_type_id"), cat("discharge_disposition_id"), cat("admission_source_id"), {name: "time_in_hospital", lo: 1, hi: 14}, cat("medical_specialty"),
		{name: "num_lab_procedures", hi: 132}, {name: "num_procedures", hi: 6}, {name: "num_medications", hi: 81}, {name: "number_outpatient", hi: 10}, {name: "number_emergency", hi: 10}, {name: "number_inpatient", hi: 10},
		{name: "number_diagnoses", lo: 1, hi: 16}, cat("max_glu_serum"), cat("A1Cresult"), cat("metformin"), cat("insulin"), cat("change"), cat("diabetesMed")}
	patient := at["patient_nbr"]
	all := records[1:]
	slices.SortStableFunc(all, func(a, b []string) int {
		x, y := a[patient], b[patient]
		if len(x) != len(y) {
			return len(x) - len(y)
		}
		return int(bit(x > y)) - int(bit(x < y))
	})
	rows, tests := make([][]string, len(all)), make([]bool, len(all))
	for i, r := range all {
		for _, c := range columns {
			rows[i] = append(rows[i], r[at[c.name]])
		}
		rows[i] = append(rows[i], r[at["readmitted"]])
		h := sha256.Sum256([]byte(r[patient]))
		tests[i] = h[0] < 51
	}
	s := build(columns, rows, func(y string) int64 { return bit(y == "<30") }, func(i int) bool { return tests[i] })
	s.all, s.train, s.most = s.train, nil, most
	next, of := 0, 0
	for i, r := range all {
		if tests[i] {
			continue
		}
		n, err := strconv.ParseInt(r[patient], 10, 64)
		if err != nil {
			return nil, err
		}
		if of++; len(s.units) == 0 || s.units[len(s.units)-1] != n {
			of = 1
		}
		if of <= most {
			s.train, s.units = append(s.train, s.all[next]), append(s.units, n)
		}
		next++
	}
	return s, nil
}
