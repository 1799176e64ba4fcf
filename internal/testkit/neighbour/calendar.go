package neighbour

import "fmt"

// Calendar is a catalog of instants and of public wall clocks: in a zone with summer time two clocks are one instant, in the hour that spring leaves out.
const Calendar = `
patients unit=patient_id key=patient_id m=1
  patient_id int4 notnull
  seen timestamptz notnull
  weight int4 notnull range=0..300
hours public key=hour
  hour timestamp notnull
  half text notnull
days public key=day
  day date notnull
`

// CalendarZone is the session's time zone of CalendarStatements.
const CalendarZone = "Europe/Berlin"

// CalendarStatements compare instants with wall clocks.
var CalendarStatements = []string{
	"select count(*) from patients p join hours h on p.seen = h.hour",
	"select count(*), sum(p.weight) from patients p join hours a on p.seen = a.hour join hours b on p.seen = b.hour join hours c on b.hour = c.hour and c.hour = p.seen",
	"select h.half, count(*), avg(p.weight) from patients p join hours h on p.seen = h.hour group by 1",
	"select count(*) from patients p join days d on p.seen = d.day",
	"select count(*) from patients p left join hours h on p.seen = h.hour where exists (select 1 from patients q where q.patient_id = p.patient_id and q.seen = h.hour)",
}

// CalendarRows has people before, in and behind the hour that is left out; unit 2 is in it.
func CalendarRows() []string {
	return []string{
		`INSERT INTO "public"."hours" SELECT t, CASE WHEN t < '2024-03-31 03:00' THEN 'first' ELSE 'second' END FROM generate_series(timestamp '2024-03-30 00:30', '2024-04-01 00:30', '1 hour') AS t`,
		`INSERT INTO "public"."days" SELECT CAST(t AS date) FROM generate_series(timestamp '2024-03-30', '2024-04-01', '1 day') AS t`,
		fmt.Sprintf(`INSERT INTO "public"."patients" SELECT i, timestamptz '2024-03-31 %s' + i * interval '1 hour', 50 + i FROM generate_series(1, 9) AS i`, "00:30+01"),
	}
}
