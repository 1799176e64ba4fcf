package pgmeta

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// dpsql's own functions, in the schema of its own tables. They are called without it, too, and so may be seen like those of pg_catalog.

const oidOfProc int64 = 1255

// oidAny as the last argument is any number of them: VARIADIC "any".
const oidAny sqltype.OID = 2276

const oidAnyElement sqltype.OID = 2283

const langC, langInternal, langSQL = 13, 12, 14

type ownFunction struct {
	name, kind, args string // args as oidvector writes them
	names            []sqltype.Value
	result           sqltype.OID
	about            string
}

var ownFunctions = []ownFunction{
	{"dp_error", "f", "2283", []sqltype.Value{"aggregate"}, sqltype.OIDFloat8, "95% error of an aggregate's answer: its distance to the farther of dp_low and dp_high. In seconds of intervals"},
	{"dp_low", "f", "2283", []sqltype.Value{"aggregate"}, sqltype.OIDFloat8, "lower end of the 95% interval of an aggregate's answer. In seconds of intervals"},
	{"dp_high", "f", "2283", []sqltype.Value{"aggregate"}, sqltype.OIDFloat8, "upper end of the 95% interval of an aggregate's answer. In seconds of intervals"},
	{"dp_top_k", "a", "2283 20", []sqltype.Value{"value", "k"}, sqltype.OIDAnyArray, "the k most frequent values, the most frequent one first"},
	{"dp_predict", "f", "25 2276", []sqltype.Value{"model", "features"}, oidAny, "what a model predicts of features: a class or a number"},
	{"dp_predict_proba", "f", "25 2276", []sqltype.Value{"model", "features"}, sqltype.OIDFloat8, "probability of a model's second class, of several that of the predicted one"},
	{"median", "a", "701", nil, sqltype.OIDFloat8, "percentile_cont(0.5)"},
	{"median", "a", "1186", nil, sqltype.OIDInterval, "percentile_cont(0.5)"},
	{"median", "a", "2283", nil, oidAnyElement, "percentile_disc(0.5), of what has no mean"},
}

func (f *ownFunction) oid() int64 { return number32("function", f.name+"("+f.args+")") }

// hasOwn reports that dpsql's own tables are published.
func (d *Database) hasOwn() bool {
	return slices.ContainsFunc(d.tables, func(t *plan.Table) bool { return t.Schema == own })
}

// addOwn makes a row for each of them of one kind, of all without a kind.
func addOwn(a *adder, kind string, row func(f *ownFunction)) {
	if !a.database.hasOwn() {
		return
	}
	for i := range ownFunctions {
		if f := &ownFunctions[i]; kind == "" || kind == f.kind {
			row(f)
		}
	}
}

func addProcs(a *adder) {
	addOwn(a, "", func(f *ownFunction) {
		args, err := sqltype.ParseText(f.args, sqltype.Type{OID: sqltype.OIDOidVector, Typmod: -1})
		if err != nil {
			panic("pgmeta: " + err.Error())
		}
		names := sqltype.Value(nil)
		if f.names != nil {
			names = listOf(sqltype.OIDText, f.names)
		}
		var variadic int64
		var all, modes sqltype.Value
		if types := args.(*sqltype.Array).Values; types[len(types)-1] == int64(oidAny) {
			variadic, all = int64(oidAny), listOf(sqltype.OIDOid, types)
			modes = listOf(sqltype.OIDChar, append(slices.Repeat([]sqltype.Value{"i"}, len(types)-1), "v"))
		}
		a.row("oid", f.oid(), "proname", f.name, "pronamespace", number32("namespace", own), "proowner", oidOfRole, "prolang", langInternal, "procost", float64(1), "prokind", f.kind,
			"proisstrict", f.kind == "f", "provolatile", "s", "proparallel", "u", "pronargs", len(args.(*sqltype.Array).Values), "prorettype", int64(f.result), "proargtypes", args, "provariadic", variadic, "proallargtypes", all, "proargmodes", modes, "proargnames", names, "prosrc", f.name)
	})
}

func addAggregates(a *adder) {
	addOwn(a, "a", func(f *ownFunction) {
		a.row("aggfnoid", f.oid(), "aggkind", "n", "aggfinalmodify", "r", "aggmfinalmodify", "r")
	})
}

func describeOwn(a *adder) {
	addOwn(a, "", func(f *ownFunction) {
		a.row("objoid", f.oid(), "classoid", oidOfProc, "description", f.about)
	})
}
