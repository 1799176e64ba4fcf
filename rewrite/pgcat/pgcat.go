// Package pgcat is PostgreSQL 15's own catalog of types, operators, functions and casts, from which the binder resolves names
// and overloads as PostgreSQL does. What dpsql can compute is a smaller set: package funcs.
package pgcat

import (
	_ "embed" // the tables
	"strconv"
	"strings"
	"sync"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

//go:generate go run ./gen -url $PGURL -dir .

//go:embed types.tsv
var typesText string

//go:embed operators.tsv
var operatorsText string

//go:embed procs.tsv
var procsText string

//go:embed casts.tsv
var castsText string

// OID is a PostgreSQL OID.
type OID = sqltype.OID

// Type is a row of pg_type; of a range type also its subtype and multirange.
type Type struct {
	OID        OID
	Name       string
	Len        int16
	Kind       byte // typtype: b, d, e, p, r, m
	Category   byte
	Preferred  bool
	Elem       OID // of arrays, also of the likes of point and int2vector
	Array      OID // its array type
	TrueArray  bool
	Base       OID // of a domain
	Collatable bool
	Subtype    OID // of a range
	Range      OID // of a multirange
	Multirange OID // of a range
}

// Oper is a row of pg_operator; Left is 0 for a prefix operator.
type Oper struct {
	OID                 OID
	Name                string
	Left, Right, Result OID
	Proc                OID
}

// Proc is a row of pg_proc, with what pg_aggregate says of it.
type Proc struct {
	OID        OID
	Name       string
	Kind       byte // f, a, w, p
	Volatility byte // i, s, v
	Strict     bool
	RetSet     bool
	Result     OID
	Variadic   OID // element type of the last argument, or "any"
	Args       []OID
	AggKind    byte     // n, o, h; 0 for what is no aggregate
	DirectArgs int      // of an ordered-set aggregate
	Outs       []OutArg // OUT arguments: the result is a row of them
	ArgNames   []string
	Defaults   []string // expressions of the last arguments
}

// OutArg is an OUT argument.
type OutArg struct {
	Name string
	OID  OID
}

// Cast is a row of pg_cast.
type Cast struct {
	Source, Target, Func OID
	Context              byte // e, a, i
	Method               byte // f, i, b
}

type tables struct {
	types     map[OID]*Type
	typeNames map[string]*Type
	opers     map[string][]*Oper
	procs     map[string][]*Proc
	procOIDs  map[OID]*Proc
	casts     map[[2]OID]*Cast
}

var load = sync.OnceValue(func() *tables {
	t := &tables{types: map[OID]*Type{}, typeNames: map[string]*Type{}, opers: map[string][]*Oper{}, procs: map[string][]*Proc{},
		procOIDs: map[OID]*Proc{}, casts: map[[2]OID]*Cast{}}
	each(typesText, func(f fields) {
		x := &Type{OID: f.oid(0), Name: f[1], Len: int16(f.int(2)), Kind: f[3][0], Category: f[4][0], Preferred: f.bool(5), Elem: f.oid(6), Array: f.oid(7),
			TrueArray: f.bool(8), Base: f.oid(9), Collatable: f.bool(10), Subtype: f.oid(11), Range: f.oid(12), Multirange: f.oid(13)}
		t.types[x.OID], t.typeNames[x.Name] = x, x
	})
	each(operatorsText, func(f fields) {
		x := &Oper{OID: f.oid(0), Name: f[1], Left: f.oid(2), Right: f.oid(3), Result: f.oid(4), Proc: f.oid(5)}
		t.opers[x.Name] = append(t.opers[x.Name], x)
	})
	each(procsText, func(f fields) {
		x := &Proc{OID: f.oid(0), Name: f[1], Kind: f[2][0], Volatility: f[3][0], Strict: f.bool(4), RetSet: f.bool(5), Result: f.oid(6), Variadic: f.oid(7),
			DirectArgs: f.int(10)}
		for _, a := range strings.Fields(f[8]) {
			x.Args = append(x.Args, number(a))
		}
		if f[9] != none {
			x.AggKind = f[9][0]
		}
		if f[12] != none {
			x.ArgNames = inputs(strings.Split(f[12], ","), f[11])
		}
		if f[14] != none {
			x.Outs = outs(strings.Split(f[12], ","), f[11], strings.Fields(f[14]))
		}
		if f[13] != none {
			x.Defaults = strings.Split(f[13], "|")
		}
		t.procs[x.Name] = append(t.procs[x.Name], x)
		t.procOIDs[x.OID] = x
	})
	each(castsText, func(f fields) {
		x := &Cast{Source: f.oid(0), Target: f.oid(1), Func: f.oid(2), Context: f[3][0], Method: f[4][0]}
		t.casts[[2]OID{x.Source, x.Target}] = x
	})
	return t
})

// none stands for NULL in the tables.
const none = "-"

// inputs are the names of the arguments that a caller gives.
func inputs(names []string, modes string) []string {
	if modes == none {
		return names
	}
	var out []string
	for i, n := range names {
		if modes[i] != 'o' && modes[i] != 't' {
			out = append(out, n)
		}
	}
	return out
}

// outs are the arguments that a function gives.
func outs(names []string, modes string, oids []string) []OutArg {
	var out []OutArg
	for i, o := range oids {
		if strings.IndexByte("obt", modes[i]) >= 0 && i < len(names) {
			out = append(out, OutArg{Name: names[i], OID: number(o)})
		}
	}
	return out
}

type fields []string

func each(text string, f func(fields)) {
	for line := range strings.Lines(text) {
		f(strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
}

func (f fields) int(i int) int {
	n, err := strconv.Atoi(f[i])
	if err != nil {
		panic("pgcat: " + err.Error()) // our own embedded text
	}
	return n
}

func (f fields) oid(i int) OID { return number(f[i]) }

func (f fields) bool(i int) bool { return f[i] == "1" }

func number(s string) OID {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		panic("pgcat: " + err.Error()) // our own embedded text
	}
	return OID(n)
}

// TypeOf finds a type; nil if pg_catalog has none of this OID.
func TypeOf(oid OID) *Type { return load().types[oid] }

// TypeNamed finds a type by its name in pg_type.
func TypeNamed(name string) *Type { return load().typeNames[name] }

// Opers are the operators of a name, prefix and infix.
func Opers(name string) []*Oper { return load().opers[name] }

// Procs are the functions, aggregates and window functions of a name.
func Procs(name string) []*Proc { return load().procs[name] }

// ProcOf finds a function by its OID.
func ProcOf(oid OID) *Proc { return load().procOIDs[oid] }

// FindCast finds the row of a cast.
func FindCast(source, target OID) *Cast { return load().casts[[2]OID{source, target}] }

// ProcNames lists all names of functions, for hints.
func ProcNames() []string {
	out := make([]string, 0, len(load().procs))
	for n := range load().procs {
		out = append(out, n)
	}
	return out
}
