package pgmeta

import (
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// function is one of the catalog's: by its name and number of arguments.
type function struct {
	eval   func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error)
	rows   func(s *Session, a []sqltype.Value, t []sqltype.Type) ([][]sqltype.Value, error)
	onNull bool
	outs   []funcs.Out
}

type signature struct {
	name string
	args int
}

type evaluator = func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error)

// constant is a function whose value follows from nothing.
func constant(v sqltype.Value) function {
	return function{eval: func(*Session, []sqltype.Value, []sqltype.Type) (sqltype.Value, error) { return v, nil }, onNull: true}
}

func strict(f evaluator) function { return function{eval: f} }

var noRows = function{rows: func(*Session, []sqltype.Value, []sqltype.Type) ([][]sqltype.Value, error) { return nil, nil }, onNull: true}

// anyNumber in place of a number of arguments.
const anyNumber = -1

// functions is filled when the package starts, because its functions refer to one another.
var functions map[signature]function
