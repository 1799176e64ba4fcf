package engine_test

import (
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// publicKeys are values that people have in package engine's bad table, spelled otherwise than the database spells them.
var publicKeys = map[string]string{
	"kind": `[a, b, null, A, "a ", ""]`, "i2": "[7, 0, 1, 32767]", "i4": "[0, 1, -7, 2147483647, null]", "i8": "[0, 5, -7, 9007199254740993, 9223372036854775807]",
	"f4": "[-0.0, 0.50, 1, null]", "f8": "[0, 0.500, 1.0, null]", "n": "[0.000, 1.5, 2.00, null]", "m": "[0, 12.5, 99.990, -9999999999.99]",
	"d": `["2024-02-29", "2000-01-01", "infinity", null]`, "ts": `["2024-02-29 12:34:56.500", "2000-01-01", "-infinity", null]`,
	"t": `[x, "1", "2024-01-01", "", " ", "NaN", null]`, "v": `[x, "1", "", "x ", null]`, "c": `[x, yy, " x", null]`, "c2": `[x, yy, "", null]`, "b": "[true, false, null]",
	"tz": `["2024-02-29 13:34:56.500+01", "2000-01-01", "-infinity", null]`, "ct": `["12:34:56.500000", "0:00", "11:59:59.999999 PM", null]`,
	"u": `["{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}", "00000000000000000000000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", null]`, "e": `[a, b, A, "", null]`,
}

// TestKeysAgree: the print's canonical keys and the release's reading of them agree for every type on both backends: no two rows
// of a print are one group of the release, and every value of a domain finds its row, however policy and rows spell it.
func TestKeysAgree(t *testing.T) {
	for _, d := range enginetest.Dialects {
		db := enginetest.OpenBad(t, d, enginetest.OneBad)
		unknown := enginetest.NewSession(enginetest.EngineOn(t, enginetest.BadPolicyFor(t, d), db), t, "ann")
		text := enginetest.BadPolicyText(d)
		for _, c := range enginetest.BadColumns {
			if publicKeys[c.Name] == "" {
				continue
			}
			text = regexp.MustCompile(`(?m)^(      `+c.Name+`:) .*$`).ReplaceAllString(text, "$1 {values: "+publicKeys[c.Name]+"}")
		}
		pol, err := policy.Parse("bad.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		public := enginetest.NewSession(enginetest.EngineOn(t, pol, db), t, "ann")
		for _, c := range enginetest.BadColumns {
			sql := "select " + c.Name + ", count(*) from facts group by 1"
			for _, s := range []*session.Session{unknown, public} {
				enginetest.Set(t, s, "dpsql.max_groups", "20")
				p, err := enginetest.Prepare(s, sql)
				if c.Name == "iv" { // equal intervals are spelled in many ways
					if sqlerr.ID(err) != sqlerr.Unsupported.ID {
						t.Errorf("%s: %s: %v", d, sql, err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if s == public && publicKeys[c.Name] == "" {
					continue
				}
				if s == unknown && p.Analysis().Groups.Public { // the whole numbers of a range
					continue
				}
				st, rows := enginetest.Scan(t, p)
				found, all := quiet(t, p, st, rows)
				if all != len(rows) {
					t.Errorf("%s: %s: %d of the %d rows' keys are groups", d, sql, all, len(rows))
				}
				if s == public && found != all {
					t.Errorf("%s: %s: %d groups of %d came, domain %s", d, sql, found, all, publicKeys[c.Name])
				}
			}
		}
	}
}

// quiet releases a statement's rows with noise that is 0: over its domain, or one of the rows' own keys. It gives how many groups
// are not empty, and how many there are.
func quiet(t *testing.T, p *enginetest.Prepared, st *sqlgen.Statement, rows [][]secret.Value) (found, all int) {
	t.Helper()
	a := *p.Analysis()
	if !a.Groups.Public {
		var keys [][]sqltype.Value
		for _, row := range rows {
			keys = append(keys, []sqltype.Value{secret.Open(row[0])})
		}
		a.Groups = sensitivity.Groups{Public: true, Count: uint64(len(keys)), Sources: []sensitivity.Source{{Keys: []int{0}, Tuples: keys}}}
	}
	r := silent(t, p.WithAnalysis(&a), st, rows)
	if r == nil {
		return 0, 0
	}
	for _, g := range r.Groups {
		if g.Values[0].Cmp(new(big.Int)) > 0 {
			found++
		}
	}
	return found, len(r.Groups)
}

// silent is the release of a scan with noise that is 0; nil if there is none.
func silent(t *testing.T, p *enginetest.Prepared, st *sqlgen.Statement, rows [][]secret.Value) *release.Release {
	t.Helper()
	a := *p.Analysis()
	a.People = -1
	mp := &price.Quote{UnitsFromSelection: -1}
	for range a.Measures { // at this scale a sample is not 0 with a probability below e^-1000000
		mp.Measures = append(mp.Measures, dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: 1, Den: dp.MaxScaleDen}})
	}
	cols, without := withoutUnits(st.Columns, rows)
	r, err := enginetest.ReleaseOnce(p.WithAnalysis(&a), mp, cols, &enginetest.Kept{Rows: without}, noise.NewSource())
	if err != nil {
		t.Errorf("%s: %v", strings.SplitN(st.SQL, "\n", 2)[0], err)
	}
	return r
}

// withoutUnits takes the column away that only a selection needs.
func withoutUnits(cols []sqlgen.Column, rows [][]secret.Value) ([]sqlgen.Column, [][]secret.Value) {
	for i, c := range cols {
		if c.Role != sqlgen.RoleUnits {
			continue
		}
		for j := range rows {
			rows[j] = append(rows[j][:i:i], rows[j][i+1:]...)
		}
		return append(cols[:i:i], cols[i+1:]...), rows
	}
	return cols, rows
}
