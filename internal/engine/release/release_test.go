package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/spool"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// table is secret rows made by a test; a nil row is a failure of the backend.
type table struct {
	rows [][]sqltype.Value
	err  error
	at   int
}

func (r *table) Next() bool { r.at++; return r.at <= len(r.rows) }
func (r *table) Err() error { return r.err }
func (r *table) Close()     {}
func (r *table) Row() []secret.Value {
	var out []secret.Value
	for _, v := range r.rows[r.at-1] {
		out = append(out, secret.Of(v))
	}
	return out
}

var (
	laplace   = dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: 3, Den: 2}}
	gaussian  = dp.Gaussian{Sensitivity: dp.Sensitivity{PerGroup: 10, Groups: 4}, Scale: dp.Scale{Num: 41, Den: 8}}
	selection = dp.Selection{Groups: 4, Scale: dp.Scale{Num: 2, Den: 1}, Threshold: 60, Delta: 1e-9}
)

// unknown is the analysis of a statement with unknown groups by the given keys, with a count of units and a sum.
func unknown(keys ...sqltype.Type) *sensitivity.Analysis {
	a := &sensitivity.Analysis{Limit: sensitivity.GroupLimit{PerUnit: 4}}
	for _, k := range keys {
		a.Keys = append(a.Keys, sensitivity.Key{Type: k})
	}
	a.Measures = []sensitivity.Measure{{Kind: sensitivity.Units, Contribution: sensitivity.Contribution{PerGroup: 1}}, {Kind: sensitivity.SumValues, Contribution: sensitivity.Contribution{PerGroup: 10}}}
	return a
}

func columns(keys int, measures ...int) []sqlgen.Column {
	var out []sqlgen.Column
	for i := range keys {
		out = append(out, sqlgen.Column{Role: sqlgen.RoleKey, Index: i})
	}
	out = append(out, sqlgen.Column{Role: sqlgen.RoleUnits})
	for _, m := range measures {
		out = append(out, sqlgen.Column{Role: sqlgen.RoleMeasure, Index: m})
	}
	return out
}

func unknownPlan() *price.Quote {
	return &price.Quote{Price: 0.5, Mechanism: price.Gaussian, Measures: []dp.Event{nil, gaussian}, Selections: []dp.Selection{selection}, UnitsFromSelection: 0,
		Loss: dp.Loss{Pure: math.Inf(1), Renyi: 0.25, Delta: 1e-9}}
}

var keyTypes = []sqltype.Type{sqltype.Int4, sqltype.Int8, sqltype.Bool, sqltype.Text, sqltype.Float8, sqltype.Numeric, sqltype.NumericOf(10, 3), sqltype.Date, sqltype.Timestamp}

func drawKey(t *rapid.T, typ sqltype.Type) sqltype.Value {
	if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
		return nil
	}
	switch typ.OID {
	case sqltype.OIDInt4:
		return int64(rapid.Int32().Draw(t, "int4"))
	case sqltype.OIDInt8:
		return rapid.Int64().Draw(t, "int8")
	case sqltype.OIDBool:
		return rapid.Bool().Draw(t, "bool")
	case sqltype.OIDText:
		return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "NULL", "null", " ", "é\x1f", `"`})).Draw(t, "text")
	case sqltype.OIDFloat8:
		return rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.Inf(1), math.Inf(-1), 1e-308, 0.1})).Draw(t, "float8")
	case sqltype.OIDNumeric:
		d := decimal.New(rapid.Int64().Draw(t, "coefficient"), rapid.Int32Range(-20, 5).Draw(t, "exponent"))
		if typ.Typmod >= 0 {
			d = decimal.New(rapid.Int64Range(-9999999999, 9999999999).Draw(t, "n"), -3)
		}
		return d
	case sqltype.OIDDate:
		return sqltype.Days(rapid.Int32Range(-700000, 2900000).Draw(t, "date"))
	}
	return sqltype.Micros(rapid.Int64Range(-6e16, 2e17).Draw(t, "timestamp"))
}

// TestStoredForm: what is encoded decodes to the same plan, keys and numbers, and to the same bytes again.
func TestStoredForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := unknown(rapid.SliceOfN(rapid.SampledFrom(keyTypes), 1, 4).Draw(t, "types")...)
		r := &Release{Plan: unknownPlan()}
		if a.Groups.Public = rapid.Bool().Draw(t, "public"); a.Groups.Public {
			r.Plan = &price.Quote{Price: 1, Mechanism: price.Laplace, Measures: []dp.Event{laplace, laplace}, UnitsFromSelection: -1, Loss: dp.Loss{Pure: 1}}
		}
		for range rapid.IntRange(0, 5).Draw(t, "groups") {
			g := Group{Values: []*big.Int{big.NewInt(rapid.Int64().Draw(t, "v")), new(big.Int).Lsh(big.NewInt(rapid.Int64().Draw(t, "w")), 40)}}
			for _, k := range a.Keys {
				g.Keys = append(g.Keys, drawKey(t, k.Type))
			}
			r.Groups = append(r.Groups, g)
		}
		text, err := Encode(a, r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(a, text, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if fmt.Sprint(back.Plan.Measures, back.Plan.Loss, back.Plan.Price, back.Plan.Mechanism, back.Plan.UnitsFromSelection) !=
			fmt.Sprint(r.Plan.Measures, r.Plan.Loss, r.Plan.Price, r.Plan.Mechanism, r.Plan.UnitsFromSelection) || len(back.Plan.Selections) != len(r.Plan.Selections) {
			t.Fatalf("the plan is %+v, it was %+v", back.Plan, r.Plan)
		}
		for i, g := range r.Groups {
			if keyText(g.Keys) != keyText(back.Groups[i].Keys) || g.Values[0].Cmp(back.Groups[i].Values[0]) != 0 || g.Values[1].Cmp(back.Groups[i].Values[1]) != 0 {
				t.Fatalf("group %d is %v, it was %v", i, back.Groups[i], g)
			}
		}
		again, err := Encode(a, back)
		if err != nil || string(again) != string(text) {
			t.Fatalf("encoded again: %v\n%s\n%s", err, again, text)
		}
	})
}

// TestDecodeRefuses: a stored form that does not fit the statement is refused, never read in part.
func TestDecodeRefuses(t *testing.T) {
	a := unknown(sqltype.Text)
	text, err := Encode(a, &Release{Plan: unknownPlan(), Groups: []Group{{Keys: []sqltype.Value{"x"}, Values: []*big.Int{big.NewInt(1), big.NewInt(2)}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(a, text, nil); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"no JSON":         "{",
		"another version": strings.Replace(string(text), `"version":1`, `"version":2`, 1),
		"a value less":    strings.Replace(string(text), `[1,2]`, `[1]`, 1),
		"a key more":      strings.Replace(string(text), `["x"]`, `["x","y"]`, 1),
		"no key":          strings.Replace(string(text), `"k":["x"],`, ``, 1),
		"an event less":   cutEvents(t, text, 1),
		"no events":       cutEvents(t, text, 0),
		"no event known":  strings.Replace(string(text), `discrete_gaussian`, `discrete_gauss`, 1),
	} {
		if bad == string(text) {
			t.Fatalf("%s: nothing was changed in %s", name, text)
		}
		r, err := Decode(a, []byte(bad), nil)
		if err == nil {
			t.Errorf("%s is read: %+v", name, r)
		}
	}
	if _, err := Decode(unknown(sqltype.Int4), text, nil); err == nil {
		t.Error("a text key is read as an integer")
	}
}

func cutEvents(t *testing.T, text []byte, n int) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	var events []json.RawMessage
	if err := json.Unmarshal(m["events"], &events); err != nil {
		t.Fatal(err)
	}
	cut, err := json.Marshal(events[:n])
	if err != nil {
		t.Fatal(err)
	}
	m["events"] = cut
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestUnknownGroups: a key without units is never released, whatever its other totals; one of more than twice the threshold always
// is; the noisy number of units is within the threshold of the truth and above it; groups come sorted by key, NULL last.
func TestUnknownGroups(t *testing.T) {
	a := unknown(sqltype.Text)
	src := noise.NewSource()
	for i := range 600 {
		rows := &table{rows: [][]sqltype.Value{
			{"z", int64(500), int64(500), decimal.NewFromInt(7)}, {"nobody", int64(0), int64(0), decimal.NewFromInt(1000000)}, {nil, int64(121), int64(121), nil},
			{"few", int64(60), int64(60), decimal.NewFromInt(1)}, {"a", int64(1000), int64(1000), decimal.NewFromInt(-7)},
		}}
		r, err := read(i%2 > 0, a, unknownPlan(), columns(1, 0, 1), rows, src)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, g := range r.Groups {
			keys = append(keys, fmt.Sprint(g.Keys[0]))
			if len(g.Values) != 2 || g.Values[0] == nil || g.Values[1] == nil || g.Values[0].Int64() <= 60 {
				t.Fatalf("%v", g)
			}
		}
		switch text := strings.Join(keys, " "); text {
		case "a z <nil>", "a few z <nil>":
		default:
			t.Fatalf("groups %s", text)
		}
		if d := r.Groups[0].Values[0].Int64() - 1000; d < -60 || d > 60 {
			t.Fatalf("noise %d of the truncated law", d)
		}
	}
}

// TestUnknownGroupsAreNoisy: the shown number of units has the selection's own law: of 2,000 releases of 1000 units the share of each
// noise from -4 to 4 is within 6.5 binomial deviations of its probability (false alarm below 9 * 1e-10).
func TestUnknownGroupsAreNoisy(t *testing.T) {
	const n = 2000
	seen := map[int64]int{}
	src := noise.NewSource()
	for i := range n {
		rows := &table{rows: [][]sqltype.Value{{"a", int64(1000), int64(1000), decimal.NewFromInt(0)}}}
		r, err := read(i%2 > 0, unknown(sqltype.Text), unknownPlan(), columns(1, 0, 1), rows, src)
		if err != nil {
			t.Fatal(err)
		}
		seen[r.Groups[0].Values[0].Int64()-1000]++
	}
	q := math.Exp(-1 / selection.Scale.Float())
	for x := int64(-4); x <= 4; x++ {
		p := (1 - q) / (1 + q) * math.Pow(q, math.Abs(float64(x))) // truncation at 60 changes it by less than 1e-12
		if d := math.Abs(float64(seen[x]) - n*p); d > 6.5*math.Sqrt(n*p*(1-p)) {
			t.Errorf("noise %d came %d times of %d, its probability is %.4f", x, seen[x], n, p)
		}
	}
}

// TestPublicGroups: every tuple of the domain is there, in its order, once; other rows are dropped; spelling of keys does not matter.
func TestPublicGroups(t *testing.T) {
	a := &sensitivity.Analysis{Keys: []sensitivity.Key{{Type: sqltype.Text}, {Type: sqltype.Numeric}, {Type: sqltype.Float8}}}
	a.Limit.PerUnit = 4
	a.Groups = sensitivity.Groups{Public: true, Count: 6, Sources: []sensitivity.Source{
		{Keys: []int{2, 0}, Tuples: [][]sqltype.Value{{0.0, "b"}, {1.5, "a"}, {nil, nil}}},
		{Keys: []int{1}, Tuples: [][]sqltype.Value{{decimal.RequireFromString("1.50")}, {decimal.NewFromInt(100)}}},
	}}
	a.Measures = []sensitivity.Measure{{Kind: sensitivity.CountRows, Contribution: sensitivity.Contribution{PerGroup: 1}}}
	tiny := dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: 1, Den: 100}} // e^-100: no noise
	p := &price.Quote{Measures: []dp.Event{tiny}, UnitsFromSelection: -1}
	rows := &table{rows: [][]sqltype.Value{
		{"b", decimal.RequireFromString("1.5"), math.Copysign(0, -1), int64(11)},
		{"a", decimal.New(1, 2), 1.5, int64(22)},
		{"x", decimal.New(1, 2), 1.5, int64(33)}, // of no group
		{nil, decimal.RequireFromString("100.000"), nil, nil},
	}}
	cols := []sqlgen.Column{{Role: sqlgen.RoleKey, Index: 0}, {Role: sqlgen.RoleKey, Index: 1}, {Role: sqlgen.RoleKey, Index: 2}, {Role: sqlgen.RoleMeasure}}
	for _, many := range []bool{false, true} {
		rows.at = 0
		r, err := read(many, a, p, cols, rows, noise.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range r.Groups {
			got = append(got, fmt.Sprintf("%v,%v,%v=%s", g.Keys[0], g.Keys[1], g.Keys[2], g.Values[0]))
		}
		if text := strings.Join(got, " "); text != "b,1.5,0=11 b,100,0=0 a,1.5,1.5=0 a,100,1.5=22 <nil>,1.5,<nil>=0 <nil>,100,<nil>=0" {
			t.Errorf("%s", text)
		}
	}
}

// TestMakeRefuses: rows that do not fit, failing rows and bad events give no release and an error that tells no value.
func TestMakeRefuses(t *testing.T) {
	broken := errors.New("the connection broke")
	good := []sqltype.Value{"z", int64(500), int64(500), int64(7)}
	for name, rows := range map[string]*table{
		"a column less":          {rows: [][]sqltype.Value{good[:3]}},
		"a fraction":             {rows: [][]sqltype.Value{{"z", int64(500), int64(500), decimal.RequireFromString("4711.5")}}},
		"a float":                {rows: [][]sqltype.Value{{"z", int64(500), int64(500), 4711.0}}},
		"text":                   {rows: [][]sqltype.Value{{"z", int64(500), int64(500), "4711"}}},
		"units beyond int64":     {rows: [][]sqltype.Value{{"z", decimal.New(1, 30), int64(4711), int64(7)}}},
		"fewer than no units":    {rows: [][]sqltype.Value{{"z", int64(-1), int64(4711), int64(7)}}},
		"a failure at the end":   {rows: [][]sqltype.Value{good}, err: broken},
		"a failure at the start": {err: broken},
	} {
		for _, many := range []bool{false, true} {
			rows.at = 0
			r, err := read(many, unknown(sqltype.Text), unknownPlan(), columns(1, 0, 1), rows, noise.NewSource())
			if err == nil || strings.Contains(err.Error(), "4711") {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
	}
	p := unknownPlan()
	bad := selection
	bad.Threshold = 3
	p.Selections = []dp.Selection{bad}
	if _, err := make1(unknown(sqltype.Text), p, columns(1, 0, 1), &table{rows: [][]sqltype.Value{good}}, noise.NewSource()); err == nil {
		t.Error("a threshold that its delta does not pay for is taken")
	}
	p = unknownPlan()
	p.Measures[1] = dp.Gaussian{}
	if _, err := make1(unknown(sqltype.Text), p, columns(1, 0, 1), &table{}, noise.NewSource()); err == nil {
		t.Error("an empty event is taken")
	}
}

func make1(a *sensitivity.Analysis, p *price.Quote, cols []sqlgen.Column, rows secret.Rows, src *noise.Source) (*Release, error) {
	m, err := New(a, p, src, 1_000_000)
	if err != nil {
		return nil, err
	}
	return m.Read(cols, rows)
}

// read is make1, the groups by way of the disk or not; either way they are held at the end.
func read(many bool, a *sensitivity.Analysis, p *price.Quote, cols []sqlgen.Column, rows secret.Rows, src *noise.Source) (*Release, error) {
	if !many {
		return make1(a, p, cols, rows, src)
	}
	m, err := New(a, p, src, 1_000_000)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "spool")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	m.SpoolTo(spool.Limits{Dir: dir, Memory: 1, File: 1 << 20})
	r, err := m.Read(cols, rows)
	if err != nil {
		return nil, err
	}
	if !r.IsOnDisk() || len(r.Groups) > 0 {
		return nil, errors.New("no group went to disk")
	}
	err = r.Each(func(g *Group) error {
		r.Groups = append(r.Groups, *g)
		return nil
	})
	if err == nil && len(r.Groups) != r.Len() {
		err = errors.New("it has another number of groups than it says")
	}
	return r, errors.Join(err, r.Close())
}

// TestOneRowATuple: two rows for one group are a failure: not the last of them for a public one, and not two groups.
func TestOneRowATuple(t *testing.T) {
	a := &sensitivity.Analysis{Keys: []sensitivity.Key{{Type: sqltype.Text}}, People: -1}
	a.Groups = sensitivity.Groups{Public: true, Count: 1, Sources: []sensitivity.Source{{Keys: []int{0}, Tuples: [][]sqltype.Value{{"a"}}}}}
	a.Limit.PerUnit = 1
	a.Measures = []sensitivity.Measure{{Kind: sensitivity.CountRows, Contribution: sensitivity.Contribution{PerGroup: 1}}}
	p := &price.Quote{Measures: []dp.Event{dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: 1, Den: 1}}}, UnitsFromSelection: -1}
	cols := []sqlgen.Column{{Role: sqlgen.RoleKey}, {Role: sqlgen.RoleMeasure}}
	row := []sqltype.Value{"a", int64(1)}
	for _, many := range []bool{false, true} {
		if _, err := read(many, a, p, cols, &table{rows: [][]sqltype.Value{row}}, noise.NewSource()); err != nil {
			t.Fatal(err)
		}
		if _, err := read(many, a, p, cols, &table{rows: [][]sqltype.Value{row, row}}, noise.NewSource()); err == nil {
			t.Error("the last row won")
		}
	}
	for _, pair := range [][2]sqltype.Value{{"a", "a"}, {decimal.RequireFromString("1.50"), decimal.RequireFromString("1.5")}, {0.0, math.Copysign(0, -1)}, {math.NaN(), math.NaN()}} {
		rows := &table{rows: [][]sqltype.Value{{pair[0], int64(1000), int64(1000), nil}, {"other", int64(1000), int64(1000), nil}, {pair[1], int64(1000), int64(1000), nil}}}
		if pair[0] != "a" {
			rows.rows[1][0] = nil
		}
		for _, many := range []bool{false, true} {
			rows.at = 0
			if _, err := read(many, unknown(sqltype.Text), unknownPlan(), columns(1, 0, 1), rows, noise.NewSource()); !errors.Is(err, errShape) {
				t.Errorf("two groups %v: %v", pair[0], err)
			}
		}
		if keyText(pair[:1]) != keyText(pair[1:]) {
			t.Errorf("%v and %v have two texts", pair[0], pair[1])
		}
	}
}
