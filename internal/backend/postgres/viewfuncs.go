package postgres

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// function is what pg_proc says of one that a view uses, by itself or as an operator's.
type function struct {
	name      string // as regprocedure writes it
	signature string // name(types) of a built-in one
	builtin   bool
	immutable bool
	retset    bool
}

// functions are those that a tree uses.
type functions struct{ byOID, byOperator map[uint32]*function }

const functionsQuery = `
	SELECT 0::oid, p.oid, p.oid::regprocedure::text, p.proname || '(' || oidvectortypes(p.proargtypes) || ')',
		p.pronamespace = 'pg_catalog'::regnamespace, p.provolatile = 'i', p.proretset
	FROM pg_proc p WHERE p.oid = ANY ($1::int8[]::oid[])`

const operatorsQuery = `
	SELECT o.oid, p.oid, p.oid::regprocedure::text, p.proname || '(' || oidvectortypes(p.proargtypes) || ')',
		p.pronamespace = 'pg_catalog'::regnamespace, p.provolatile = 'i', p.proretset
	FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode WHERE o.oid = ANY ($1::int8[]::oid[])`

// Fields that hold functions and operators.
var (
	functionFields = []string{"funcid", "aggfnoid", "winfnoid", "wfuncid", "tsmhandler", "inRangeFunc", "startInRangeFunc", "endInRangeFunc"}
	operatorFields = []string{"opno", "eqop", "sortop"}
)

// impure nodes depend on more than their arguments without naming a function.
var impure = map[string]string{
	"SQLVALUEFUNCTION": "current_date or the like", "NEXTVALUEEXPR": "nextval", "TABLESAMPLECLAUSE": "TABLESAMPLE",
	"XMLEXPR": "XML functions", "JSONEXPR": "JSON functions", "JSONCONSTRUCTOREXPR": "JSON functions", "CURRENTOFEXPR": "CURRENT OF",
}

// functionsOf looks up what a tree uses.
func (c *catalog) functionsOf(tree any) (*functions, error) {
	var procs, operators []int64
	walkTree(tree, func(n *treeNode) {
		for _, f := range functionFields {
			if oid := n.oid(f); oid != 0 {
				procs = append(procs, int64(oid))
			}
		}
		for _, oid := range operatorsOf(n) {
			operators = append(operators, int64(oid))
		}
	})
	fs := &functions{byOID: map[uint32]*function{}, byOperator: map[uint32]*function{}}
	scan := func(q pgx.Rows) error {
		var operator, proc uint32
		f := &function{}
		var system bool
		if err := q.Scan(&operator, &proc, &f.name, &f.signature, &system, &f.immutable, &f.retset); err != nil {
			return err
		}
		f.builtin = system && proc < firstUserOID
		if operator != 0 {
			fs.byOperator[operator] = f
		} else {
			fs.byOID[proc] = f
		}
		return nil
	}
	if err := c.each(functionsQuery, procs, scan); err != nil {
		return nil, err
	}
	return fs, c.each(operatorsQuery, operators, scan)
}

func operatorsOf(n *treeNode) []uint32 {
	var out []uint32
	for _, f := range operatorFields {
		if oid := n.oid(f); oid != 0 {
			out = append(out, oid)
		}
	}
	if list, ok := n.fields["opnos"].([]any); ok { // (o 96 97), of row comparisons
		for _, v := range list {
			if oid := asOID(v); oid != 0 {
				out = append(out, oid)
			}
		}
	}
	return out
}

// of gives the function that a node itself calls; uses is false if it calls none.
func (fs *functions) of(n *treeNode) (f *function, uses bool) {
	switch n.label {
	case "FUNCEXPR":
		return fs.byOID[n.oid("funcid")], true
	case "OPEXPR", "DISTINCTEXPR", "NULLIFEXPR", "SCALARARRAYOPEXPR":
		return fs.byOperator[n.oid("opno")], true
	}
	return nil, false
}

// effects lists what of a tree is not immutable, and what users' functions it calls.
func (fs *functions) effects(tree any) (volatile, opaque []string) {
	note := func(f *function) {
		switch {
		case f == nil:
			volatile = append(volatile, "a function that is not in pg_proc")
		case !f.immutable:
			volatile = append(volatile, f.name)
		}
		if f != nil && !f.builtin {
			opaque = append(opaque, f.name)
		}
	}
	walkTree(tree, func(n *treeNode) {
		for _, field := range functionFields {
			if oid := n.oid(field); oid != 0 {
				note(fs.byOID[oid])
			}
		}
		for _, oid := range operatorsOf(n) {
			note(fs.byOperator[oid])
		}
		if s := impure[n.label]; s != "" {
			volatile = append(volatile, s)
		}
		if n.label == "COERCEVIAIO" && !textual(n) {
			volatile = append(volatile, "a cast through text")
		}
	})
	return sortedSet(volatile), sortedSet(opaque)
}

func sortedSet(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

// comparisons of one type or of numbers' widths are total, but for collations, which are checked apart.
var comparisons = regexp.MustCompile(`^(bool|bytea|char|oid|int2|int4|int8|int24|int28|int42|int48|int82|int84|float4|float8|float48|float84` +
	`|numeric_|date_|time_|timestamp_|timestamptz_|interval_|uuid_|text_?|bpchar)(eq|ne|lt|le|gt|ge)\(`)

// totals never fail on any argument, apart from texts near PostgreSQL's own limit of 1 GB.
var totals = words(strings.NewReplacer(", ", ",", "double precision", "double_precision", "timestamp without time zone", "timestamp_").Replace(`
	lower(text) upper(text) initcap(text) length(text) length(character) char_length(text) character_length(text) octet_length(text)
	btrim(text) ltrim(text) rtrim(text) btrim(text, text) ltrim(text, text) rtrim(text, text) left(text, integer) right(text, integer)
	substr(text, integer) substring(text, integer) textcat(text, text) starts_with(text, text) reverse(text)
	text(character) text(boolean) bool(integer) int4(boolean) int4(smallint) int8(smallint) int8(integer)
	numeric(smallint) numeric(integer) numeric(bigint) float4(smallint) float4(integer) float4(bigint)
	float8(smallint) float8(integer) float8(bigint) float8(real)
	abs(real) abs(double precision) abs(numeric) float4um(real) float8um(double precision) numeric_uminus(numeric)
	floor(double precision) ceil(double precision) ceiling(double precision) round(double precision) trunc(double precision)
	sign(double precision) sign(numeric) date(timestamp without time zone)`))

func spelled(signature string) string {
	return strings.NewReplacer(", ", ",", "double precision", "double_precision", "timestamp without time zone", "timestamp_").Replace(signature)
}

var (
	patterns = words("textlike(text,text) textnlike(text,text) texticlike(text,text) texticnlike(text,text) bpcharlike(character,text) bpcharnlike(character,text)")
	parts    = words("extract(text,date) extract(text,timestamp_) date_part(text,timestamp_)")
	// For infinite dates these are infinite or NULL.
	// date_part(text, date) goes through timestamp, which late dates do not fit.
	partNames = words("year month day quarter week dow doy isodow isoyear decade century")
)

// total reports a built-in function that never fails on the arguments of this call.
func (f *function) total(call *treeNode) bool {
	signature := spelled(f.signature)
	_, arguments, _ := strings.Cut(signature, "(")
	ofText := strings.Contains(arguments, "text") || strings.Contains(arguments, "character")
	if ofText && call.oid("inputcollid") == 0 { // no collation could be told: it fails when it runs
		return false
	}
	switch {
	case comparisons.MatchString(f.signature) || totals[signature]:
		return true
	case patterns[signature]: // a backslash at a pattern's end fails where matching comes so far
		p, ok := textConstant(call, 1)
		return ok && !bytes.ContainsRune(p, '\\')
	case parts[signature]:
		p, ok := textConstant(call, 0)
		return ok && partNames[string(p)]
	}
	return false
}

// textConstant gives an argument that is a text constant, without its length word; NULL is none.
func textConstant(call *treeNode, i int) ([]byte, bool) {
	args, ok := call.nodes("args")
	if !ok || i >= len(args) || args[i].label != "CONST" || args[i].oid("consttype") != 25 {
		return nil, false
	}
	d, ok := args[i].fields["constvalue"].(datum)
	if !ok || len(d) < 4 {
		return nil, false
	}
	return d[4:], true
}

func oids(list ...uint32) map[uint32]bool {
	m := map[uint32]bool{}
	for _, o := range list {
		m[o] = true
	}
	return m
}

var (
	plainCollations = oids(0, 100, 950, 951) // none, default, C, POSIX
	// Types whose comparison is total: boolean, integers, text, floats, bpchar, varchar, date, time, timestamps, numeric, uuid.
	comparable = oids(16, 20, 21, 23, 25, 700, 701, 1042, 1043, 1082, 1083, 1114, 1184, 1700, 2950)
	texts      = oids(25, 1042, 1043)
	// Types whose text is the same in every session.
	printable = oids(16, 20, 21, 23, 25, 1042, 1043, 1700, 2950)
)

// textual reports a cast to text that cannot fail and does not depend on the session's settings.
func textual(n *treeNode) bool {
	arg, ok := n.fields["arg"].(*treeNode)
	if !ok || n.oid("resulttype") != 25 && n.oid("resulttype") != 1043 {
		return false
	}
	for _, field := range []string{"vartype", "consttype", "funcresulttype", "opresulttype", "casetype", "coalescetype", "minmaxtype", "resulttype"} {
		if oid := arg.oid(field); oid != 0 {
			return printable[oid]
		}
	}
	return arg.label == "BOOLEXPR" || arg.label == "NULLTEST" || arg.label == "BOOLEANTEST"
}

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}
