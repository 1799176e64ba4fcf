package engine_test

import (
	"fmt"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/pgcat"
)

// typed are expressions over the clinic's stays, by type; their ranges follow from declared ones where the type has any.
var typed = map[sqltype.OID]string{
	sqltype.OIDInt2: "extract(year from came)::int2", sqltype.OIDInt4: "discharged - admitted", sqltype.OIDInt8: "(discharged - admitted)::int8",
	sqltype.OIDNumeric: "(discharged - admitted)::numeric(10,2)", sqltype.OIDFloat4: "(discharged - admitted)::float4", sqltype.OIDFloat8: "(discharged - admitted)::float8",
	sqltype.OIDInterval: "went - came", sqltype.OIDDate: "admitted", sqltype.OIDTimestamp: "came", sqltype.OIDTimestamptz: "came at time zone 'UTC'", sqltype.OIDTime: "came::time",
	sqltype.OIDTimetz: "(came at time zone 'UTC')::timetz", sqltype.OIDText: "admitted::text", sqltype.OIDVarchar: "admitted::text::varchar(8)", sqltype.OIDBPChar: "admitted::text::char(4)",
	sqltype.OIDBool: "went > came", sqltype.OIDBytea: "decode(md5(admitted::text), 'hex')", sqltype.OIDUUID: "md5(admitted::text)::uuid", sqltype.OIDJSON: "'[1]'::json", sqltype.OIDJSONB: "'[1]'::jsonb",
	sqltype.OIDOid: "'5'::oid", 1007: "array[discharged - admitted]",
}

// typesFor are the types that take the place of a pseudo-type: all of typed, or arrays.
func typesFor(o sqltype.OID) []sqltype.OID {
	const anyArray, anyType, anyEnum = 2277, 2276, 3500
	switch o {
	case anyArray:
		return []sqltype.OID{1007}
	case anyType:
		var all []sqltype.OID
		for t := range typed {
			all = append(all, t)
		}
		return all
	case anyEnum: // the clinic has none
		return nil
	}
	return []sqltype.OID{o}
}

// TestOverloads: each overload of the aggregates, over private rows and within a person's rows, is answered, or refused before anything is charged: never
// charged and failing, which would lock the analyst out.
func TestOverloads(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, "epsilon: 20,", "epsilon: 1000,")
		answered := map[string]bool{}
		for _, fn := range []string{"count", "sum", "avg", "min", "max", "bool_and", "bool_or", "every"} {
			for _, p := range pgcat.Procs(fn) {
				if len(p.Args) != 1 {
					continue
				}
				for _, o := range typesFor(p.Args[0]) {
					x, ok := typed[o]
					if !ok {
						if Readable(o) {
							t.Errorf("no expression of type %d", o)
						}
						continue
					}
					name := fmt.Sprintf("%s(%s)", fn, sqltype.Type{OID: o, Typmod: -1})
					for _, sql := range []string{
						fmt.Sprintf("select %s(%s) from stays", fn, x),
						fmt.Sprintf("select count(*) from (select patient_id, %s(%s) as v from stays group by 1) t where v is not null", fn, x),
					} {
						var err error
						n := enginetest.Charged(t, s.Engine, func() { _, err = enginetest.Try(s, sql) })
						if err != nil && n != 0 {
							t.Errorf("%s: %s: charged, and failed: %v", d, sql, err)
						}
						answered[name] = answered[name] || err == nil
					}
				}
			}
		}
		for _, name := range []string{"sum(integer)", "avg(numeric)", "sum(double precision)", "count(interval)", "max(date)"} {
			if !answered[name] {
				t.Errorf("%s: %s is refused", d, name)
			}
		}
	}
}
