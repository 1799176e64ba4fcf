package neighbour

import "fmt"

// Spelled is a catalog of units whose equal values have several forms: numerics with more or fewer zeros, and the floats 0 and -0. A column that equals the unit then says more than the unit.
const Spelled = `
patients unit=patient_id key=patient_id m=1
  patient_id numeric notnull
visits unit=patient_id path=patient_id->patients.patient_id m=4
  patient_id numeric
  a numeric
  x int4 range=0..10
devices unit=device_id key=device_id m=1
  device_id float8 notnull
readings unit=device_id path=device_id->devices.device_id m=4
  device_id float8
  a float8
  x int4 range=0..10
`

// SpelledUnit is a unit of both kinds that is spelled in ten ways; unit 3 has one form alone.
const SpelledUnit = 0

// SpelledRows are the rows of Spelled's tables in PostgreSQL.
func SpelledRows() []string {
	out := []string{"INSERT INTO patients SELECT i FROM generate_series(0, 12) i", "INSERT INTO devices SELECT i FROM generate_series(0, 12) i",
		"INSERT INTO visits SELECT i, i, 1 FROM generate_series(1, 12) i", "INSERT INTO readings SELECT i, i, 1 FROM generate_series(1, 12) i"}
	for i := range 10 {
		out = append(out, fmt.Sprintf("INSERT INTO visits VALUES (%d, round(%d::numeric, %d), %d)", SpelledUnit, SpelledUnit, i, i),
			fmt.Sprintf("INSERT INTO readings VALUES ('0', '%s', %d)", []string{"0", "-0"}[i%2], i))
	}
	return out
}

// SpelledStatements are grouped by what tells the forms of a unit apart, of columns that equal it.
var SpelledStatements = []string{
	"select a::text, count(*), sum(x) from visits where a = patient_id group by 1",
	"select scale(a), count(*) from visits where a = patient_id group by 1",
	"select v.a::text, count(*) from patients p join visits v on v.patient_id = p.patient_id and v.a = p.patient_id group by 1",
	"select length(q.t), count(*), avg(x) from (select a::text as t, x from visits where patient_id = a) q group by 1",
	"select a::text, count(*) from readings where a = device_id group by 1",
	"select atan2(a, -1) > 0, count(*), sum(x) from readings where device_id = a group by 1",
}
