package plan

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Polymorphic functions and operators: how their declared types follow from the arguments' (parse_coerce.c,
// check_generic_type_consistency and enforce_generic_type_consistency).

// poly is what the arguments say of the polymorphic types; 0 is not known yet.
type poly struct {
	elem, array, rng, multi    sqltype.OID // anyelement and its kin
	seen, nonArray, enum       bool
	unknowns                   bool
	compat                     []sqltype.OID // what anycompatible and its kin stand for
	compatSeen, compatNonArray bool
	common, commonArray        sqltype.OID
}

// gather reads the arguments. An error says why the call does not fit.
func (ts *types) gather(actual, declared []sqltype.OID) (*poly, *sqlerr.Error) {
	p := &poly{}
	for i, d := range declared {
		a := actual[i]
		if !polymorphic(d) {
			continue
		}
		first := polyFamily1(d)
		p.seen, p.compatSeen = p.seen || first, p.compatSeen || !first
		p.nonArray, p.enum = p.nonArray || d == oidAnyNonArray, p.enum || d == oidAnyEnum
		p.compatNonArray = p.compatNonArray || d == oidCompatNonArray
		if a == sqltype.OIDUnknown {
			p.unknowns = true
			continue
		}
		var slot *sqltype.OID
		switch d {
		case oidAnyElement, oidAnyNonArray, oidAnyEnum:
			slot = &p.elem
		case oidAnyArray:
			a, slot = ts.base(a), &p.array
		case oidAnyRange:
			a, slot = ts.base(a), &p.rng
		case oidAnyMultirange:
			a, slot = ts.base(a), &p.multi
		case oidCompatible, oidCompatNonArray:
			p.compat = append(p.compat, a)
			continue
		case oidCompatArray:
			e := ts.elem(ts.base(a))
			if e == 0 {
				return nil, mismatch("argument declared %s is not an array but type %s", "anycompatiblearray", ts.name(ts.base(a)))
			}
			p.compat = append(p.compat, e)
			continue
		default:
			return nil, mismatch("ranges are not resolved")
		}
		if *slot != 0 && *slot != a {
			kind := map[*sqltype.OID]string{&p.elem: "anyelement", &p.array: "anyarray", &p.rng: "anyrange", &p.multi: "anymultirange"}[slot]
			return nil, mismatch("arguments declared %q are not all alike", kind).WithDetail("%s versus %s", ts.name(*slot), ts.name(a))
		}
		*slot = a
	}
	return p, ts.settle(p)
}

// settle makes the parts of a poly agree.
func (ts *types) settle(p *poly) *sqlerr.Error {
	agree := func(elem sqltype.OID, kind string, of sqltype.OID, what string) *sqlerr.Error {
		switch {
		case elem == 0:
			return mismatch("argument declared %s is not %s but type %s", kind, what, ts.name(of))
		case p.elem == 0:
			p.elem = elem
		case p.elem != elem:
			return mismatch("argument declared %s is not consistent with argument declared %s", kind, "anyelement").WithDetail("%s versus %s", ts.name(of), ts.name(p.elem))
		}
		return nil
	}
	if p.array != 0 && p.array != oidAnyArray {
		if err := agree(ts.elem(p.array), "anyarray", p.array, "an array"); err != nil {
			return err
		}
	}
	if p.multi != 0 {
		r := ts.info(p.multi).Range
		if r == 0 || p.rng != 0 && p.rng != r {
			return mismatch("argument declared %s is not a multirange type but type %s", "anymultirange", ts.name(p.multi))
		}
		p.rng = r
	}
	if p.rng != 0 {
		if err := agree(ts.info(p.rng).Subtype, "anyrange", p.rng, "a range type"); err != nil {
			return err
		}
	}
	if p.nonArray && ts.elem(ts.base(p.elem)) != 0 {
		return mismatch("type matched to anynonarray is an array type: %s", ts.name(p.elem))
	}
	if p.enum && p.elem != 0 && ts.info(p.elem).Kind != 'e' {
		return mismatch("type matched to anyenum is not an enum type: %s", ts.name(p.elem))
	}
	if !p.compatSeen {
		return nil
	}
	p.common, p.commonArray = sqltype.OIDText, oidTextArray
	if len(p.compat) == 0 {
		return nil
	}
	var bad *[2]sqltype.OID
	if p.common, bad = ts.commonOf(p.compat); bad != nil {
		return mismatch("argument types %s and %s cannot be matched", ts.name(bad[0]), ts.name(bad[1]))
	}
	for _, a := range p.compat {
		if !ts.canCoerce([]sqltype.OID{a}, []sqltype.OID{p.common}, implicitly) {
			return mismatch("arguments of anycompatible family cannot be cast to a common type")
		}
	}
	p.commonArray = ts.array(p.common)
	if p.compatNonArray && ts.elem(ts.base(p.common)) != 0 {
		return mismatch("type matched to anycompatiblenonarray is an array type: %s", ts.name(p.common))
	}
	return nil
}

func mismatch(format string, args ...any) *sqlerr.Error {
	return sqlerr.New(sqlerr.DatatypeMismatch, format, args...)
}

// consistent reports that polymorphic declared types fit.
func (ts *types) consistent(actual, declared []sqltype.OID) bool {
	p, err := ts.gather(actual, declared)
	return err == nil && (!p.enum || p.elem != 0)
}

// enforce gives the declared types with the polymorphic ones replaced where arguments have to be coerced, and the result type.
func (ts *types) enforce(actual, declared []sqltype.OID, result sqltype.OID) ([]sqltype.OID, sqltype.OID, *sqlerr.Error) {
	p, err := ts.gather(actual, declared)
	if err != nil {
		return nil, 0, err
	}
	if !p.seen && !p.compatSeen {
		return declared, result, nil
	}
	if p.seen && p.elem == 0 && p.array == 0 {
		return nil, 0, mismatch("could not determine polymorphic type because input has type %s", "unknown")
	}
	noArray := func(of sqltype.OID) *sqlerr.Error {
		return sqlerr.New(sqlerr.UndefinedObject, "could not find array type for data type %s", ts.name(of))
	}
	array := func() (sqltype.OID, *sqlerr.Error) {
		if p.array == 0 {
			p.array = ts.array(p.elem)
		}
		if p.array == 0 {
			return 0, noArray(p.elem)
		}
		return p.array, nil
	}
	out := append([]sqltype.OID(nil), declared...)
	for i, d := range declared {
		switch d {
		case oidCompatible, oidCompatNonArray:
			out[i] = p.common
			continue
		case oidCompatArray:
			if p.commonArray == 0 {
				return nil, 0, noArray(p.common)
			}
			out[i] = p.commonArray
			continue
		}
		if actual[i] != sqltype.OIDUnknown {
			continue
		}
		switch d {
		case oidAnyElement, oidAnyNonArray, oidAnyEnum:
			out[i] = p.elem
		case oidAnyArray:
			if out[i], err = array(); err != nil {
				return nil, 0, err
			}
		case oidAnyRange:
			out[i] = p.rng
		case oidAnyMultirange:
			if out[i] = p.multi; p.multi == 0 {
				out[i] = ts.info(p.rng).Multirange
			}
		}
		if out[i] == 0 {
			return nil, 0, mismatch("could not determine polymorphic type %s because input has type %s", ts.name(d), "unknown")
		}
	}
	switch result {
	case oidAnyElement, oidAnyNonArray, oidAnyEnum:
		result = p.elem
	case oidAnyArray:
		result, err = array()
	case oidAnyRange:
		result = p.rng
	case oidAnyMultirange:
		if result = p.multi; result == 0 {
			result = ts.info(p.rng).Multirange
		}
	case oidCompatible, oidCompatNonArray:
		result = p.common
	case oidCompatArray:
		if result = p.commonArray; result == 0 {
			err = noArray(p.common)
		}
	}
	return out, result, err
}
