package plan_test

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestTablesRead: what a statement reads of each table, and nothing more.
func TestTablesRead(t *testing.T) {
	cat := demoCatalog(t)
	for sql, want := range map[string]string{
		"SELECT gender FROM patients":                                                                                                 "patients: gender",
		"SELECT q.gender FROM (SELECT * FROM patients) q":                                                                             "patients: gender",
		"SELECT count(*) FROM patients":                                                                                               "patients:",
		"SELECT 1 FROM patients WHERE gender = 'F' ORDER BY patient_id":                                                               "patients: patient_id gender",
		"SELECT DISTINCT ON (gender) 1 FROM patients":                                                                                 "patients: gender",
		"SELECT count(*) FROM (SELECT DISTINCT gender FROM patients) q":                                                               "patients: gender",
		"SELECT gender, count(*) FROM patients GROUP BY 1":                                                                            "patients: gender",
		"SELECT count(*) FROM patients JOIN encounters USING (patient_id)":                                                            "patients: patient_id; encounters: patient_id",
		"SELECT gender FROM patients UNION SELECT medical_specialty FROM encounters":                                                  "patients: gender; encounters: medical_specialty",
		"SELECT gender FROM patients p WHERE EXISTS (SELECT 1 FROM encounters e WHERE e.patient_id = p.patient_id)":                   "encounters: patient_id; patients: patient_id gender",
		"SELECT (SELECT max(e.encounter_id) FROM encounters e WHERE e.patient_id = p.patient_id) FROM patients p":                     "encounters: encounter_id patient_id; patients: patient_id",
		"SELECT l.n FROM patients p, LATERAL (SELECT count(*) AS n FROM encounters e WHERE e.patient_id = p.patient_id) l":            "patients: patient_id; encounters: patient_id",
		"WITH q AS (SELECT gender, race FROM patients) SELECT a.gender FROM q a JOIN q b ON a.race = b.race":                          "patients: gender race",
		"SELECT row_number() OVER (PARTITION BY race ORDER BY gender) FROM patients":                                                  "patients: gender race",
		"SELECT sum(q.n) FROM (SELECT patient_id, count(*) FILTER (WHERE medical_specialty = 'x') AS n FROM encounters GROUP BY 1) q": "encounters: patient_id medical_specialty",
	} {
		sts, err := pgsyntax.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		q, err := plan.Bind(sts[0].Node.(*pgsyntax.Select), cat, plan.BindOptions{})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		var got []string
		for _, r := range q.TablesRead() {
			text := r.Table.Name + ":"
			for _, c := range r.Columns {
				text += " " + r.Table.Columns[c].Name
			}
			got = append(got, text)
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s\n got %s\nwant %s", sql, s, want)
		}
	}
}
