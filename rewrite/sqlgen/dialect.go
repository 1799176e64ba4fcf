package sqlgen

import (
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// quote is a quoted identifier.
func quote(name string) string { return dialect.Quote(name) }

// fn is the qualified name of a built-in function.
func (p *printer) fn(name string) string { return p.d.Function(name) }

// typeName names a type; v, if a decimal, gives a scale to an unmodified numeric.
func (p *printer) typeName(t sqltype.Type, v sqltype.Value) (string, error) {
	return p.d.TypeName(t, v)
}

// number is an exact inline number of a type.
func (p *printer) number(d decimal.Decimal, t sqltype.Type) (string, error) { return p.d.Number(d, t) }

// binary is text with the collation that compares bytes.
func (p *printer) binary(x string, t sqltype.Type) string { return p.d.ByBytes(x, t) }

// withLetters is a text of binary's collation with the database's own one again, whose letters upper, ILIKE and the like know.
func (p *printer) withLetters(x string, t sqltype.Type) string {
	if t.IsString() {
		x += p.d.Collation()
	}
	return x
}

// or is a text, or the refusal of the statement.
func (p *printer) or(text string, err error) string {
	if err != nil {
		return p.fail(err)
	}
	return text
}

func (p *printer) big(x string) string { return p.d.Big(x) }

func (p *printer) wide(x string) string { return p.d.Wide(x) }
