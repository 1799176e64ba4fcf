package plan

import (
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// concat, concat_ws and format take values of any types, and NULLs without being NULL themselves: they are bound as what they
// are made of, || and COALESCE.

// joining is how a function of texts is bound; nil if it is none of these.
func (b *binder) joining(name string) func([]Scalar, pgsyntax.Pos) (Scalar, error) {
	switch name {
	case "concat":
		return b.concat
	case "concat_ws":
		return b.concatWith
	case "format":
		return b.format
	}
	return nil
}

// concat joins texts; a NULL is passed over.
func (b *binder) concat(args []Scalar, pos pgsyntax.Pos) (Scalar, error) {
	list := make([]Scalar, 0, len(args))
	for _, a := range args {
		v, err := b.outText(a, pos)
		if err != nil {
			return nil, err
		}
		list = append(list, orEmpty(v))
	}
	return b.joined(list, pos)
}

// concatWith puts a text between; a NULL is passed over together with it. So each one begins with the text between, and the
// first of these is cut off in the end.
func (b *binder) concatWith(args []Scalar, pos pgsyntax.Pos) (Scalar, error) {
	list := make([]Scalar, 0, len(args))
	for _, a := range args[1:] {
		v, err := b.outText(a, pos)
		if err != nil {
			return nil, err
		}
		if v, err = b.operator("||", []Scalar{args[0], v}, pos); err != nil {
			return nil, err
		}
		list = append(list, orEmpty(v))
	}
	all, err := b.joined(list, pos)
	if err != nil {
		return nil, err
	}
	length, err := b.function(&pgsyntax.FuncCall{Pos: pos, Name: "length"}, args[:1], nil, false)
	if err != nil {
		return nil, err
	}
	start, err := b.operator("+", []Scalar{length, &Const{Value: int64(1), T: sqltype.Int4}}, pos)
	if err != nil {
		return nil, err
	}
	return b.function(&pgsyntax.FuncCall{Pos: pos, Name: "substr"}, []Scalar{all, start}, nil, false)
}

// format takes %s and %%, also %1$s; the format is a constant.
func (b *binder) format(args []Scalar, pos pgsyntax.Pos) (Scalar, error) {
	c, ok := args[0].(*Const)
	if !ok {
		return nil, sqlerr.New(sqlerr.UnsupportedFunction, "argument 1 of format must be a constant").At(int(b.place(args[0], pos))).
			WithHint("Write its value into the statement: what is computed follows from it.")
	}
	if c.Value == nil {
		return &Const{T: sqltype.Text}, nil
	}
	at := b.place(args[0], pos)
	var list []Scalar
	next := 1
	rest := c.Value.(string)
	for rest != "" {
		plain, after, found := strings.Cut(rest, "%")
		if plain != "" {
			list = append(list, &Const{Value: plain, T: sqltype.Text})
		}
		if rest = after; !found {
			break
		}
		if after, ok := strings.CutPrefix(rest, "%"); ok {
			list, rest = append(list, &Const{Value: "%", T: sqltype.Text}), after
			continue
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits > 0 && strings.HasPrefix(rest[digits:], "$") {
			n, err := strconv.Atoi(rest[:digits])
			if err != nil || n == 0 {
				return nil, sqlerr.New(sqlerr.InvalidParam, "format specifies argument 0, but arguments are numbered from 1").At(int(at))
			}
			next, rest = n, rest[digits+1:]
		}
		switch {
		case rest == "":
			return nil, sqlerr.New(sqlerr.InvalidParam, "unterminated format() type specifier").At(int(at))
		case rest[0] != 's':
			return nil, unsupported(at, "format with more than %s, %1$s and %% is").WithHint("Join texts with ||.")
		case next >= len(args):
			return nil, sqlerr.New(sqlerr.InvalidParam, "too few arguments for format()").At(int(at))
		}
		v, err := b.outText(args[next], pos)
		if err != nil {
			return nil, err
		}
		list, next, rest = append(list, orEmpty(v)), next+1, rest[1:]
	}
	return b.joined(list, pos)
}

// orEmpty is a text with ” for NULL.
func orEmpty(x Scalar) Scalar {
	if c, ok := x.(*Const); ok {
		if c.Value == nil {
			return &Const{Value: "", T: sqltype.Text}
		}
		return c
	}
	return &Coalesce{Args: []Scalar{x, &Const{Value: "", T: sqltype.Text}}, T: sqltype.Text}
}

func (b *binder) joined(list []Scalar, pos pgsyntax.Pos) (Scalar, error) {
	if len(list) == 0 {
		return &Const{Value: "", T: sqltype.Text}, nil
	}
	out := list[0]
	for _, x := range list[1:] {
		var err error
		if out, err = b.operator("||", []Scalar{out, x}, pos); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// mostBlanks is the longest char(n) that rpad fills up over private rows (funcs).
const mostBlanks = 16384

// outText is a value as its type's output function writes it: a boolean is t or f, and char(n) has its blanks.
func (b *binder) outText(x Scalar, pos pgsyntax.Pos) (Scalar, error) {
	t := x.Type()
	if p, ok := x.(*Param); ok && t.OID == sqltype.OIDUnknown {
		return nil, sqlerr.New(sqlerr.IndeterminateType, "could not determine data type of parameter $%d", p.N).At(int(b.place(x, pos)))
	}
	switch t.OID {
	case sqltype.OIDBool:
		letter := func(s string) Scalar { return &Const{Value: s, T: sqltype.Text} }
		return &Case{Whens: []When{{Cond: x, Result: letter("t")}, {Cond: &Logic{Op: Not, Args: []Scalar{x}}, Result: letter("f")}}, T: sqltype.Text}, nil
	case sqltype.OIDBPChar:
		if t.Typmod <= 4 {
			return nil, unsupported(b.place(x, pos), "char without a length as a text with its blanks is").WithHint("Cast it to text.")
		}
		if t.Typmod-4 > mostBlanks {
			return nil, unsupported(b.place(x, pos), t.String()+" as a text with its blanks is").WithHint("Cast it to text.")
		}
		v, err := b.explicit(x, sqltype.Text, pos)
		if err != nil {
			return nil, err
		}
		return b.function(&pgsyntax.FuncCall{Pos: pos, Name: "rpad"}, []Scalar{v, &Const{Value: int64(t.Typmod - 4), T: sqltype.Int4}}, nil, false)
	}
	return b.explicit(x, sqltype.Text, pos)
}
