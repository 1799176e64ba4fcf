package release

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/shopspring/decimal"
)

// opened is one row of totals, out of its cover.
type opened struct {
	keys   []sqltype.Value
	values []*big.Int
	units  int64
}

var errShape = errors.New("release: a row of totals does not have the plan's shape")

func open(a *sensitivity.Analysis, cols []sqlgen.Column, row []secret.Value) (opened, error) {
	out := opened{keys: make([]sqltype.Value, len(a.Keys)), values: make([]*big.Int, len(a.Measures))}
	if len(row) != len(cols) {
		return out, errShape
	}
	for i, c := range cols {
		v := secret.Open(row[i])
		switch c.Role {
		case sqlgen.RoleKey:
			out.keys[c.Index] = v
		case sqlgen.RoleUnits:
			n, err := integer(v)
			if err != nil || !n.IsInt64() {
				return out, errShape
			}
			out.units = n.Int64()
		case sqlgen.RoleMeasure:
			n, err := integer(v)
			if err != nil {
				return out, err
			}
			out.values[c.Index] = n
		default:
			return out, errShape
		}
	}
	return out, nil
}

// integer reads a total; NULL (nobody, or only NULL partials) is 0.
func integer(v sqltype.Value) (*big.Int, error) {
	switch v := v.(type) {
	case nil:
		return new(big.Int), nil
	case int64:
		return big.NewInt(v), nil
	case decimal.Decimal:
		if !v.IsInteger() {
			return nil, errShape
		}
		return v.BigInt(), nil
	}
	return nil, errShape
}

// domain lists all tuples of the public groups, in the order of the sources.
func domain(a *sensitivity.Analysis) [][]sqltype.Value {
	out := [][]sqltype.Value{make([]sqltype.Value, len(a.Keys))}
	for _, s := range a.Groups.Sources {
		next := make([][]sqltype.Value, 0, len(out)*len(s.Tuples))
		for _, o := range out {
			for _, t := range s.Tuples {
				n := append([]sqltype.Value(nil), o...)
				for i, k := range s.Keys {
					n[k] = t[i]
				}
				next = append(next, n)
			}
		}
		out = next
	}
	return out
}

// keyText is equal for equal keys: canonical values, each with its length.
func keyText(keys []sqltype.Value) string {
	var b strings.Builder
	for _, k := range keys {
		var s string
		switch k := k.(type) {
		case nil:
			b.WriteString("n;")
			continue
		case decimal.Decimal:
			s = k.String() // without trailing zeros
		case float64:
			if k == 0 {
				k = 0 // -0 is 0
			}
			s = strconv.FormatFloat(k, 'g', -1, 64)
		default:
			s = fmt.Sprint(k)
		}
		b.WriteString(strconv.Itoa(len(s)))
		b.WriteByte(':')
		b.WriteString(s)
	}
	return b.String()
}

func lessKeys(a, b []sqltype.Value) bool {
	for i := range a {
		switch {
		case a[i] == nil && b[i] == nil:
			continue
		case a[i] == nil:
			return false
		case b[i] == nil:
			return true
		}
		if c := sqltype.Compare(a[i], b[i]); c != 0 {
			return c < 0
		}
	}
	return false
}
