package funcs

import (
	"crypto/md5" //nolint:gosec // PostgreSQL's md5()
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

const (
	text = sqltype.OIDText
	i4   = sqltype.OIDInt4
	i8   = sqltype.OIDInt8
	yes  = sqltype.OIDBool

	// MaxText is how many bytes a function may make of a short text and a number; longer ones are NULL. PostgreSQL raises from 1 GB on: what a
	// statement puts together of them must not reach that either, or one person's row could make it fail (sqlgen).
	MaxText = 1 << 16
	// longestHere is what Eval makes at most, of released and public values.
	longestHere = 1 << 24
)

// textParts has the text functions that cut, pad, search and replace. Characters are code points on both backends, as in a
// database of encoding UTF8.
func textParts() []*Func {
	var out []*Func
	add := func(name string, args []sqltype.OID, result sqltype.OID, maybe bool, f forms, eval evalFunc) *Func {
		r := row(Function, name, args, result, maybe, f).eval(eval)
		if !r.MayBeNull {
			r.Safe = harmless
		}
		out = append(out, r)
		return r
	}
	count := always(0, math.MaxInt32)
	bytes := func(s string) (sqltype.Value, error) { return int64(len(s)), nil }
	add("octet_length", oids(text), i4, false, forms{pg: "octet_length({x})", duck: "CAST(strlen({x}) AS INTEGER)"}, of1(bytes)).within(count)
	add("bit_length", oids(text), i4, true, forms{pg: "bit_length(CASE WHEN octet_length({x}) < 268435456 THEN {x} END)", duck: "CAST(CASE WHEN strlen({x}) < 268435456 THEN strlen({x}) * 8 END AS INTEGER)"},
		of1(func(s string) (sqltype.Value, error) { return int64(len(s)) * 8, nil })).within(count)

	// Proof of the DuckDB forms: the characters from max(y, 1) on, up to y + z, computed without overflow.
	from := forms{pg: "substr({x}, {y})", duck: "substr({x}, greatest({y}, 1))", lax: true}
	slice := forms{pg: "substr({x}, {y}, CASE WHEN {z} >= 0 THEN {z} END)",
		duck: "CASE WHEN {z} >= 0 THEN substr({x}, greatest({y}, 1), greatest(least(CAST({y} AS BIGINT) + {z} - greatest({y}, 1), 2147483647), 0)) END", lax: true}
	for _, name := range []string{"substr", "substring"} {
		from.own, slice.own = name+"({x}, {y})", name+"({x}, {y}, {z})"
		add(name, oids(text, i4), text, false, from, of2(func(s string, at int64) (sqltype.Value, error) { return substring(s, at, toEnd), nil }))
		add(name, oids(text, i4, i4), text, true, slice, of3(func(s string, at, n int64) (sqltype.Value, error) {
			if n < 0 {
				return nil, sqlerr.New(sqlerr.SubstringError, "negative substring length not allowed")
			}
			return substring(s, at, n), nil
		}))
	}
	add("left", oids(text, i4), text, false, forms{pg: "left({x}, {y})", duck: "CASE WHEN {y} >= 0 THEN substr({x}, 1, {y}) ELSE substr({x}, 1, greatest(length({x}) + CAST({y} AS BIGINT), 0)) END", lax: true},
		of2(func(s string, n int64) (sqltype.Value, error) {
			if n < 0 {
				n = max(0, int64(utf8.RuneCountInString(s))+n)
			}
			return substring(s, 1, n), nil
		}))
	add("right", oids(text, i4), text, false, forms{pg: "right({x}, int4larger({y}, -2147483647))", lax: true,
		duck: "CASE WHEN {y} = -2147483648 THEN substr({x}, 1, 0) WHEN {y} >= 0 THEN substr({x}, greatest(length({x}) - CAST({y} AS BIGINT), 0) + 1) ELSE substr({x}, 1 - CAST({y} AS BIGINT)) END"},
		of2(func(s string, n int64) (sqltype.Value, error) {
			switch {
			case n == math.MinInt32: // has no positive: PostgreSQL before 15.20 passed over nothing
				return "", nil
			case n < 0:
				return substring(s, 1-n, toEnd), nil
			}
			return substring(s, int64(utf8.RuneCountInString(s))-n+1, toEnd), nil
		}))
	index := of2(func(s, part string) (sqltype.Value, error) {
		i := strings.Index(s, part)
		if i < 0 {
			return int64(0), nil
		}
		return int64(utf8.RuneCountInString(s[:i])) + 1, nil
	})
	add("strpos", oids(text, text), i4, false, forms{short: true, pg: "strpos({x}, {y})", duck: "CAST(strpos({x}, {y}) AS INTEGER)"}, index).within(count)
	add("position", oids(text, text), i4, false, forms{short: true, own: "pg_catalog.position({x}, {y})", pg: "strpos({x}, {y})", duck: "CAST(strpos({x}, {y}) AS INTEGER)"}, index).within(count)

	add("replace", oids(text, text, text), text, true, forms{short: true,
		pg:   "CASE WHEN octet_length({z}) <= octet_length({y}) OR CAST(octet_length({x}) AS int8) * octet_length({z}) <= " + most + " THEN replace({x}, {y}, {z}) END",
		duck: "CASE WHEN strlen({z}) <= strlen({y}) OR CAST(strlen({x}) AS BIGINT) * strlen({z}) <= " + most + " THEN CASE WHEN {y} = '' THEN {x} ELSE replace({x}, {y}, {z}) END END", lax: true},
		of3(func(s, old, fresh string) (sqltype.Value, error) {
			if old == "" {
				return s, nil
			}
			return strings.ReplaceAll(s, old, fresh), nil
		}))
	add("translate", oids(text, text, text), text, false, forms{short: true, pg: "translate({x}, {y}, {z})", duck: "translate({x}, {y}, {z})"}, of3(translate))
	out = append(out, trims()...)
	out = append(out, pads()...)
	add("reverse", oids(text), text, false, forms{pg: "reverse({x})", duck: "array_to_string(list_reverse(regexp_extract_all({x}, '.', 0, 's')), '')"}, of1(func(s string) (sqltype.Value, error) {
		r := []rune(s)
		for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
			r[i], r[j] = r[j], r[i]
		}
		return string(r), nil
	}))
	add("split_part", oids(text, text, i4), text, true, forms{short: true, pg: "split_part({x}, {y}, nullif({z}, 0))",
		duck: "CASE WHEN {z} = 0 THEN NULL WHEN {y} = '' THEN CASE WHEN abs(CAST({z} AS BIGINT)) = 1 THEN {x} ELSE '' END ELSE split_part({x}, {y}, {z}) END", lax: true}, of3(splitPart))
	add("starts_with", oids(text, text), yes, false, forms{pg: "starts_with({x}, {y})", duck: "starts_with({x}, {y})"}, of2(startsWith))
	out = append(out, row(Operator, "^@", oids(text, text), yes, false, forms{pg: "{x} ^@ {y}", duck: "starts_with({x}, {y})"}).eval(of2(startsWith)).safe(harmless))
	add("overlay", oids(text, text, i4, i4), text, true, forms{pg: "CASE WHEN {z} > 0 AND CAST({z} AS int8) + {w} BETWEEN -2147483648 AND 2147483647 AND CAST(octet_length({x}) AS int8) * 2 + octet_length({y}) <= " + most + " THEN overlay({x} PLACING {y} FROM {z} FOR {w}) END",
		own:  "pg_catalog.overlay({x}, {y}, {z}, {w})",
		duck: "CASE WHEN {z} > 0 AND CAST({z} AS BIGINT) + {w} BETWEEN -2147483648 AND 2147483647 AND strlen({x}) * 2 + strlen({y}) <= " + most + " THEN CAST(substr({x}, 1, {z} - 1) || {y} || substr({x}, greatest(CAST({z} AS BIGINT) + {w}, 1)) AS VARCHAR) END"},
		func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			return overlay(v[0].(string), v[1].(string), v[2].(int64), v[3].(int64))
		})
	add("overlay", oids(text, text, i4), text, true, forms{pg: "CASE WHEN {z} > 0 AND CAST({z} AS int8) + length({y}) <= 2147483647 AND CAST(octet_length({x}) AS int8) + octet_length({y}) <= " + most + " THEN overlay({x} PLACING {y} FROM {z}) END",
		own:  "pg_catalog.overlay({x}, {y}, {z})",
		duck: "CASE WHEN {z} > 0 AND CAST({z} AS BIGINT) + length({y}) <= 2147483647 AND strlen({x}) + strlen({y}) <= " + most + " THEN CAST(substr({x}, 1, {z} - 1) || {y} || substr({x}, CAST({z} AS BIGINT) + length({y})) AS VARCHAR) END"},
		of3(func(s, by string, at int64) (sqltype.Value, error) {
			return overlay(s, by, at, int64(utf8.RuneCountInString(by)))
		}))
	return append(out, textCodes()...)
}

var most = strconv.Itoa(MaxText)

const toEnd = math.MaxInt64

// substring are n characters from the one at, counted from 1; those before the first are passed over.
func substring(s string, at, n int64) string {
	end := at + n
	if n == toEnd {
		end = toEnd
	}
	k := int64(1)
	first, last := len(s), len(s)
	for i := range s {
		if k == max(at, 1) {
			first = i
		}
		if k == end {
			last = i
			break
		}
		k++
	}
	if end <= max(at, 1) || first > last {
		return ""
	}
	return s[first:last]
}

func startsWith(s, part string) (sqltype.Value, error) { return strings.HasPrefix(s, part), nil }

func translate(s, from, to string) (sqltype.Value, error) {
	target := []rune(to)
	m := map[rune]int{}
	for i, r := range []rune(from) {
		if _, ok := m[r]; !ok {
			m[r] = i
		}
	}
	return strings.Map(func(r rune) rune {
		switch i, ok := m[r]; {
		case !ok:
			return r
		case i < len(target):
			return target[i]
		}
		return -1
	}, s), nil
}

func splitPart(s, by string, n int64) (sqltype.Value, error) {
	if n == 0 {
		return nil, sqlerr.New(sqlerr.InvalidParam, "field position must not be zero")
	}
	parts := []string{s}
	if by != "" {
		parts = strings.Split(s, by)
	}
	if n < 0 {
		n += int64(len(parts)) + 1
	}
	if n < 1 || n > int64(len(parts)) {
		return "", nil
	}
	return parts[n-1], nil
}

func overlay(s, by string, at, n int64) (sqltype.Value, error) {
	if at <= 0 {
		return nil, sqlerr.New(sqlerr.SubstringError, "negative substring length not allowed")
	}
	if at+n > math.MaxInt32 || at+n < math.MinInt32 {
		return nil, outOfRange("integer")
	}
	return substring(s, 1, at-1) + by + substring(s, at+n, toEnd), nil
}

// trims has btrim, ltrim and rtrim, of blanks or of a set of characters.
func trims() []*Func {
	var out []*Func
	for _, t := range []struct {
		name, duck string
		f          func(s, set string) string
	}{{"btrim", "trim", strings.Trim}, {"ltrim", "ltrim", strings.TrimLeft}, {"rtrim", "rtrim", strings.TrimRight}} {
		out = append(out,
			row(Function, t.name, oids(text), text, false, forms{pg: t.name + "({x})", duck: t.duck + "({x}, ' ')"}).safe(harmless).
				eval(of1(func(s string) (sqltype.Value, error) { return t.f(s, " "), nil })),
			row(Function, t.name, oids(text, text), text, false, forms{short: true, pg: t.name + "({x}, {y})", duck: t.duck + "({x}, {y})"}).
				eval(of2(func(s, set string) (sqltype.Value, error) { return t.f(s, set), nil })))
	}
	return out
}

// pads has lpad, rpad and repeat; texts of more than 64 kB are NULL.
func pads() []*Func {
	limit := strconv.Itoa(MaxText / 4)
	var out []*Func
	for _, name := range []string{"lpad", "rpad"} {
		for n := 2; n <= 3; n++ {
			args, fill, rest := oids(text, i4), "' '", ")"
			if n == 3 {
				args, fill, rest = oids(text, i4, text), "{z}", ", {z})"
			}
			f := row(Function, name, args, text, true, forms{pg: name + "({x}, CASE WHEN {y} <= " + limit + " THEN {y} END" + rest, own: name + "({x}, {y}" + rest,
				duck: "CASE WHEN {y} <= " + limit + " THEN CASE WHEN {y} <= length({x}) OR " + fill + " = '' THEN substr({x}, 1, greatest({y}, 0)) ELSE " + name + "({x}, {y}, " + fill + ") END END", lax: true})
			f.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
				with := " "
				if len(v) == 3 {
					with = v[2].(string)
				}
				return pad(v[0].(string), v[1].(int64), with, name == "lpad")
			}
			out = append(out, f)
		}
	}
	return append(out, row(Function, "repeat", oids(text, i4), text, true, forms{
		pg:   "repeat({x}, CASE WHEN CAST(octet_length({x}) AS int8) * {y} <= " + most + " THEN CASE WHEN {x} = '' THEN 0 ELSE {y} END END)",
		duck: "repeat({x}, CASE WHEN CAST(strlen({x}) AS BIGINT) * {y} <= " + most + " THEN CASE WHEN {x} = '' THEN 0 ELSE {y} END END)"}).
		eval(of2(func(s string, n int64) (sqltype.Value, error) {
			if int64(len(s))*max(n, 0) > longestHere {
				return nil, tooLong()
			}
			if s == "" {
				n = 0
			}
			return strings.Repeat(s, int(max(n, 0))), nil
		})))
}

func tooLong() error { return sqlerr.New(sqlerr.TooLong, "requested length too large") }

func pad(s string, n int64, with string, left bool) (sqltype.Value, error) {
	missing := int(n) - utf8.RuneCountInString(s)
	if missing <= 0 || with == "" {
		return substring(s, 1, max(n, 0)), nil
	}
	if n > longestHere {
		return nil, tooLong()
	}
	fill := []rune(strings.Repeat(with, missing/utf8.RuneCountInString(with)+1))
	if left {
		return string(fill[:missing]) + s, nil
	}
	return s + string(fill[:missing]), nil
}

// textCodes has ascii, chr, to_hex, initcap and the hashes.
func textCodes() []*Func {
	code := row(Function, "ascii", oids(text), i4, false, forms{pg: "ascii({x})", duck: "CASE WHEN {x} = '' THEN 0 ELSE CAST(unicode({x}) AS INTEGER) END"}).safe(harmless).within(always(0, unicode.MaxRune)).
		eval(of1(func(s string) (sqltype.Value, error) {
			for _, r := range s {
				return int64(r), nil
			}
			return int64(0), nil
		}))
	known := "CASE WHEN {x} BETWEEN 1 AND 55295 OR {x} BETWEEN 57344 AND 1114111 THEN {x} END"
	char := row(Function, "chr", oids(i4), text, true, forms{pg: "chr(" + known + ")", duck: "chr(" + known + ")"}).eval(of1(func(n int64) (sqltype.Value, error) {
		if n < 0 {
			return nil, sqlerr.New(sqlerr.InvalidParam, "character number must be positive")
		}
		if n == 0 || n > unicode.MaxRune || !utf8.ValidRune(rune(n)) {
			return nil, sqlerr.New(sqlerr.TooLong, "requested character not valid for encoding: %d", n)
		}
		return string(rune(n)), nil
	})).safe(func(a []*num.Interval, _ []sqltype.Type) bool {
		return a[0].Within(&num.Interval{Lo: one(1), Hi: decimal.NewFromInt(55295)})
	})
	hex4 := row(Function, "to_hex", oids(i4), text, false, forms{pg: "to_hex({x})", duck: "lower(to_hex(CAST({x} AS BIGINT) & 4294967295))"}).safe(harmless).
		eval(of1(func(n int64) (sqltype.Value, error) { return strconv.FormatUint(uint64(uint32(n)), 16), nil }))
	hex8 := row(Function, "to_hex", oids(i8), text, false, forms{pg: "to_hex({x})", duck: "lower(to_hex({x}))"}).safe(harmless).
		eval(of1(func(n int64) (sqltype.Value, error) { return strconv.FormatUint(uint64(n), 16), nil }))
	caps := row(Function, "initcap", oids(text), text, false, forms{pg: "initcap({x})", why: "DuckDB has no initcap"}).safe(harmless).eval(of1(initcap))
	hash := row(Function, "md5", oids(text), text, false, forms{why: HashesPublicOnly}).eval(of1(func(s string) (sqltype.Value, error) {
		sum := md5.Sum([]byte(s)) //nolint:gosec // PostgreSQL's md5()
		return hex.EncodeToString(sum[:]), nil
	}))
	return []*Func{code, char, hex4, hex8, caps, hash}
}

func initcap(s string) (sqltype.Value, error) {
	inside := false
	return strings.Map(func(r rune) rune {
		was := inside
		inside = unicode.IsLetter(r) || unicode.IsDigit(r)
		if was {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s), nil
}

// HashesPublicOnly is why hashes have no form for private values.
const HashesPublicOnly = "a hash hides nothing: it is for public values"
