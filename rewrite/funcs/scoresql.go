package funcs

import (
	"fmt"
	"strconv"
	"strings"
)

// The scores' forms: arrays are read once a row, and whatever is computed of the scores reads them by their names.

func places64(list []float64) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strings.Join(out, ",")
}

func double(v float64) string {
	return "CAST('" + strconv.FormatFloat(v, 'g', -1, 64) + "' AS double precision)"
}

// postgres is the form of arguments: scores' numbers, the class, arrays. OFFSET 0 keeps PostgreSQL from writing what is below into what is above, which mentions it often; a compressed text of bytes is unpacked once.
func (s *scores) postgres(x []string) string {
	var in, sums, zs, more []string
	for j := range s.K {
		in = append(in, fmt.Sprintf("float8larger(float8smaller(%s, %s), %s) AS b%d", x[j], double(mostScore), double(-mostScore), j+1))
	}
	at := s.K
	if s.lost() {
		in, more, at = append(in, x[at]+" AS y"), []string{"v.y"}, at+1
	}
	for i := range s.arrays {
		l, name := &s.arrays[i], fmt.Sprintf("v.x%d", i+1)
		text := x[at+i]
		if l.type_ == blob {
			text += ` || CAST('' AS bytea)`
		}
		in, sums = append(in, fmt.Sprintf("%s AS x%d", text, i+1)), append(sums, l.postgres(name)+fmt.Sprintf(" AS a%d", i+1))
	}
	for j := range s.K {
		z := fmt.Sprintf("v.b%d", j+1)
		for i := range s.arrays {
			z += fmt.Sprintf(" + a%d.s%d", i+1, j+1)
		}
		zs = append(zs, fmt.Sprintf("%s AS z%d", z, j+1))
	}
	read := append([]string{fmt.Sprintf("(SELECT %s OFFSET 0) AS v", strings.Join(in, ", "))}, sums...)
	all, from := placed("z.z", "", s.K), fmt.Sprintf("(SELECT %s FROM %s OFFSET 0) AS z", strings.Join(append(zs, more...), ", "), strings.Join(read, ", "))
	if s.K == 1 {
		return fmt.Sprintf("(SELECT %s FROM %s)", s.said(all, all[0], "z.y", ""), from)
	}
	exps := make([]string, s.K)
	for j, z := range all {
		exps[j] = "exp(greatest(" + z + " - z.m, -700))"
	}
	return fmt.Sprintf("(SELECT %s FROM (SELECT z.*, greatest(%s) AS m FROM %s OFFSET 0) AS z)", s.said(all, "z.m", "z.y", strings.Join(exps, " + ")), strings.Join(all, ", "), from)
}

// placed are the names of k scores.
func placed(name, end string, k int) []string {
	out := make([]string, k)
	for j := range out {
		out[j] = name + strconv.Itoa(j+1) + end
	}
	return out
}

// postgres is the array's part of each score, s1 and on: one row, from the elements beside their coefficients.
func (l *linear) postgres(x string) string {
	var names, arrays, sums []string
	for j, c := range l.c {
		names, arrays = append(names, fmt.Sprintf("w%d", j+1)), append(arrays, "CAST('{"+places64(c)+"}' AS float8[])")
		sums = append(sums, fmt.Sprintf("CASE WHEN count(r.n) = %d THEN %s + %s * sum(r.n * r.w%d) END AS s%d", l.Length, double(l.from[j]), double(l.unit[j]), j+1, j+1))
	}
	w, all := strings.Join(names, ", "), strings.Join(arrays, ", ")
	if l.type_ == blob {
		return fmt.Sprintf("LATERAL (SELECT %s FROM (SELECT %s AS n, %s FROM (SELECT CASE WHEN octet_length(%s) = %d THEN get_byte(%s, CAST(i - 1 AS int4)) END AS e, %s FROM unnest(%s) WITH ORDINALITY AS u(%s, i)) AS t WHERE e IS NOT NULL OFFSET 0) AS r)",
			strings.Join(sums, ", "), l.pgSteps("e"), w, x, l.Length, x, w, all, w)
	}
	return fmt.Sprintf("LATERAL (SELECT %s FROM (SELECT %s AS n, %s FROM unnest(CASE WHEN cardinality(%s) = %d AND array_ndims(%s) = 1 THEN %s END, %s) AS u(e, %s) WHERE e IS NOT NULL OFFSET 0) AS r)",
		strings.Join(sums, ", "), l.pgSteps("e"), w, x, l.Length, x, x, all, w)
}

// pgSteps is an element that is not NULL as a whole number of steps; a numeric of many digits is no float8, nor is one of many places.
func (l *linear) pgSteps(e string) string {
	if l.type_ == numeric && !l.whole {
		e = fmt.Sprintf("CAST(round(least(greatest(%s, CAST(%s AS numeric)), CAST(%s AS numeric)), %d) AS double precision)", e, quoted(strconv.FormatFloat(l.Lo, 'f', -1, 64)), quoted(strconv.FormatFloat(l.Hi, 'f', -1, 64)), l.digit)
	}
	return l.steps(e, pgRounding)
}

// duckSteps is the same; numerics are doubles there.
func (l *linear) duckSteps(e string) string { return l.steps(e, duckRounding) }

func (l *linear) steps(e string, rounding func(name, x string) string) string {
	if l.whole {
		return fmt.Sprintf("CAST(least(greatest(%s, %d), %d) - %d AS double precision)", e, int64(l.Lo), int64(l.Hi), int64(l.Lo))
	}
	lo, hi := double(l.Lo), double(l.Hi)
	if l.type_ != numeric && l.type_ != f8 {
		e = "CAST(" + e + " AS double precision)"
	}
	return rounding("round", fmt.Sprintf("greatest(least(greatest(%s, %s), %s) - %s, %s) / %s", e, lo, hi, lo, double(l.grid/2), double(l.grid)))
}

// duck is the same, of lists in the place of arrays: bytes are read as hexadecimal digits, and names are a lambda's, since a subquery may not stand everywhere. Scores are a list too: with each field of a struct that is named DuckDB binds all of them.
func (s *scores) duck(x []string) string {
	at := s.K
	held := []string{fmt.Sprintf("'b': list_transform([%s], lambda _b: CASE WHEN _b > %s THEN %s WHEN _b < %s THEN %s ELSE _b END)", strings.Join(x[:s.K], ", "), double(mostScore), double(mostScore), double(-mostScore), double(-mostScore))}
	scored, found := []string{}, []string{"'z': _z.z", "'m': list_max(_z.z)"}
	if s.lost() {
		at++
		// In a list, as DuckDB may lose the name of a macro; see fill.
		held, scored, found = append(held, "'y': ["+x[s.K]+"][1]"), append(scored, "'y': _n.y"), append(found, "'y': _z.y")
	}
	for i := range s.arrays {
		l := &s.arrays[i]
		a := x[at+i]
		if l.type_ != blob { // a list
			held = append(held, fmt.Sprintf("'n%d': list_transform(CASE WHEN len(%s) = %d AND list_count(%s) = %d THEN %s END, lambda _h: %s)", i+1, a, l.Length, a, l.Length, a, l.duckSteps("_h")))
			continue
		}
		held = append(held, fmt.Sprintf("'n%d': list_transform(regexp_extract_all(hex(CASE WHEN octet_length(%s) = %d THEN %s END), '..'), lambda _h: %s)", i+1, a, l.Length, a, l.duckSteps("CAST('0x' || _h AS INTEGER)")))
	}
	zs := placed("_n.b[", "]", s.K)
	for j := range zs {
		for i := range s.arrays {
			l := &s.arrays[i]
			zs[j] += fmt.Sprintf(" + (%s + %s * list_dot_product(_n.n%d, CAST('[%s]' AS DOUBLE[])))", double(l.from[j]), double(l.unit[j]), i+1, places64(l.c[j]))
		}
	}
	scored = append(scored, "'z': ["+strings.Join(zs, ", ")+"]")
	return fmt.Sprintf("list_transform(list_transform(list_transform([{%s}], lambda _n: {%s}), lambda _z: {%s}), lambda _s: %s)[1]",
		strings.Join(held, ", "), strings.Join(scored, ", "), strings.Join(found, ", "), s.said(placed("_s.z[", "]", s.K), "_s.m", "_s.y", "list_sum(list_transform(_s.z, lambda _e: exp(greatest(_e - _s.m, -700))))"))
}

// said is what is computed of all scores, NULL where one is. most is the name of the largest: written out, the text would grow with the square of their number; sum is that of the exponentials of what they are below it.
func (s *scores) said(all []string, most, y, sum string) string {
	there, places := make([]string, s.K), make([]string, s.K)
	for j := range s.K {
		there[j], places[j] = all[j]+" IS NOT NULL", fmt.Sprintf(" WHEN %s THEN ", all[j])
	}
	share := fmt.Sprintf("1 / (1 + exp(least(greatest(-%s, -700), 700)))", all[0])
	text := ""
	switch {
	case s.Of == ScoreClass && s.K == 1:
		text = "CASE WHEN " + all[0] + " > 0 THEN 1 ELSE 0 END"
	case s.Of == ScoreClass:
		text = "CASE " + most
		for j, w := range places {
			text += w + strconv.Itoa(j)
		}
		text += " END"
	case s.Of == ScoreShare && s.K == 1:
		text = share
	case s.Of == ScoreShare:
		text = "1 / (" + sum + ")"
	case s.Of == ScoreSure:
		text = "CASE " + most
		for j, w := range places {
			text += w + strconv.Itoa(j*s.Bins)
		}
		text += fmt.Sprintf(" END + CAST(greatest(%d, least(%d, floor(%d * (1 / (%s))))) AS integer)", s.least(), s.Bins-1, s.Bins, sum)
	case s.Of == ScoreBin:
		text = fmt.Sprintf("CAST(least(%d, floor(%d * (%s))) AS integer)", s.Bins-1, s.Bins, share)
	case s.Of == ScoreOdds: // the score is below 1e300, so nothing overflows
		text = fmt.Sprintf("CAST(floor(greatest(0, least(%d, floor((%s + %d) * %s))) / %d) AS integer)", OddsBins-1, all[0], MostOdds, double(perOdds), OddsBins/s.Bins)
	case s.lost() && s.K == 1:
		there = append(there, y+" BETWEEN 0 AND 1")
		exp := fmt.Sprintf("exp(least(greatest(CASE %s WHEN 0 THEN %s ELSE -%s END, -700), 700))", y, all[0], all[0])
		text = fmt.Sprintf("greatest(0, least(%d, ln(1 + %s)))", MostScoreLoss, exp)
	case s.Of == ScoreLoss:
		there = append(there, fmt.Sprintf("%s BETWEEN 0 AND %d", y, s.K-1))
		of := "CASE " + y
		for j, v := range all {
			of += fmt.Sprintf(" WHEN %d THEN %s", j, v)
		}
		text = fmt.Sprintf("greatest(0, least(%d, ln(%s) + %s - (%s END)))", MostScoreLoss, sum, most, of)
	case s.Of == ScoreValue:
		text = fmt.Sprintf("greatest(%s, least(%s, %s + %s * greatest(-1, least(1, %s))))", double(s.Lo), double(s.Hi), double((s.Lo+s.Hi)/2), double((s.Hi-s.Lo)/2), all[0])
	default:
		text = fmt.Sprintf("greatest(%s, least(%s, exp(least(greatest(%s, -700), 700))))", double(s.Lo), double(s.Hi), all[0])
	}
	return "CASE WHEN " + strings.Join(there, " AND ") + " THEN " + text + " END"
}
