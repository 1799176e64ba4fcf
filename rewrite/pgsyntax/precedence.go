package pgsyntax

// The levels of PostgreSQL's operator precedence, from its manual and grammar; a higher one binds tighter.
const (
	levOr = iota + 1
	levAnd
	levNot
	levIs
	levCompare // < > = <= >= <>
	levIn      // BETWEEN IN LIKE ILIKE SIMILAR
	levEscape
	levOp // every other operator
	levAdd
	levMul
	levPower
	levAt
	levCollate
	levMinus // unary + and -
	levIndex
	levCast
	levCall // FILTER, WITHIN GROUP, OVER
	levPrimary
)

// level is the precedence of an infix operator by its spelling.
func level(op string) int {
	switch op {
	case "OR":
		return levOr
	case "AND":
		return levAnd
	case "IS DISTINCT FROM", "IS NOT DISTINCT FROM":
		return levIs
	case "<", ">", "=", "<=", ">=", "<>":
		return levCompare
	case "BETWEEN", "IN", "LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE", "SIMILAR TO", "NOT SIMILAR TO":
		return levIn
	case "ESCAPE":
		return levEscape
	case "+", "-":
		return levAdd
	case "*", "/", "%":
		return levMul
	case "^":
		return levPower
	case "AT TIME ZONE":
		return levAt
	}
	return levOp
}

// chains says whether a op b op c is allowed; it groups from the left then.
func chains(lev int) bool { return lev != levIs && lev != levCompare && lev != levIn }

// prefixLevel is the least level of a prefix operator's operand.
func prefixLevel(op string) int {
	switch op {
	case "NOT":
		return levNot
	case "+", "-":
		return levMinus
	}
	return levOp + 1
}

// level is the level of an operator behind an operand. plain says whether it may stand in the first bound of BETWEEN and
// in POSITION, where PostgreSQL allows only some (its b_expr).
func (a *atom) level() (lev int, plain bool) {
	if a.kind == aInfix {
		if a.op == "OVERLAPS" {
			return -1, false // stands between two rows only, see overlaps
		}
		lev = level(a.op)
		return lev, !a.quant && (lev >= levOp && lev != levAt || lev == levCompare || lev == levIs)
	}
	switch a.mark {
	case mTypecast:
		return levCast, true
	case mIndex, mField:
		return levIndex, true
	case mFilter, mWithin, mOver, mOverName:
		return levCall, true
	}
	if a.op == "COLLATE" {
		return levCollate, false
	}
	return levIs, false
}
