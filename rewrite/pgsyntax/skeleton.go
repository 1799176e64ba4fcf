package pgsyntax

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// The parser asks its driver for values of literals. A skeleton has none, so a driver that refuses them is enough.
func init() {
	errLiteral := errors.New("a literal in a skeleton")
	ast.NewValueExpr = func(any, string, string) ast.ValueExpr { return nil }
	ast.NewParamMarkerExpr = func(int) ast.ParamMarkerExpr { return nil }
	ast.NewDecimal = func(string) (any, error) { return nil, errLiteral }
	ast.NewHexLiteral = func(string) (any, error) { return nil, errLiteral }
	ast.NewBitLiteral = func(string) (any, error) { return nil, errLiteral }
}

// parsers are not safe for concurrent use.
var parsers = sync.Pool{New: func() any {
	p := parser.New()
	p.SetSQLMode(mysql.ModeNoBackslashEscapes)
	return p
}}

// columnOf finds the column in the parser's message.
var columnOf = regexp.MustCompile(`^line 1 column (\d+) near`)

// grammar parses a skeleton. This is the one place where a panic of the parser is caught: it is a syntax error then.
func grammar(s *speller) (node ast.StmtNode, err error) {
	defer func() {
		if r := recover(); r != nil {
			node, err = nil, sqlerr.New(sqlerr.Syntax, "syntax error").At(s.toks[0].pos).WithCause(fmt.Errorf("parser: %v", r))
		}
	}()
	p, ok := parsers.Get().(*parser.Parser)
	if !ok {
		return nil, sqlerr.New(sqlerr.Internal, "no parser")
	}
	list, _, perr := p.ParseSQL(s.out.String())
	switch {
	case perr != nil:
		parsers.Put(p)
		t := &s.toks[0]
		if m := columnOf.FindStringSubmatch(perr.Error()); m != nil {
			if column, err := strconv.Atoi(m[1]); err == nil {
				t = s.tokenAt(column)
			}
		}
		return nil, syntaxAt(t)
	case len(list) != 1:
		parsers.Put(p)
		return nil, syntaxAt(&s.toks[0])
	}
	node = list[0]
	parsers.Put(p) // the tree is not the parser's; only the slice of statements is reused
	return node, nil
}
