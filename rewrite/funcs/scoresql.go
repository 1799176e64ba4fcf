package funcs

import (
	"fmt"
	"slices"
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

// postgres is the form of arguments: numbers, the class, arrays. OFFSET 0 keeps PostgreSQL from writing what is below into what is above, which mentions it often; a compressed text of bytes is unpacked once.
func (s *scores) postgres(x []string) string {
	numbers, x := x[:s.numbers()], slices.Clone(x[s.numbers():])
	var in, more []string
	begin := make([]string, s.width()) // of each score
	if len(s.layers) == 0 {
		for j, b := range numbers {
			in = append(in, fmt.Sprintf("float8larger(float8smaller(%s, %s), %s) AS b%d", b, double(mostScore), double(-mostScore), j+1))
			begin[j] = fmt.Sprintf("v.b%d", j+1)
		}
	} else {
		begin = doubles(s.Biases)
	}
	if s.lost() {
		in, x, more = append(in, x[0]+" AS y"), x[1:], []string{"v.y"}
	}
	arrays, sums := s.arrays, (*linear)(nil)
	switch {
	case s.Inputs > 0 && arrays[0].isSmall():
		sums, arrays = &arrays[0], arrays[1:]
	case s.Inputs > 0:
		x = append([]string{pgArray(numbers)}, x...)
	}
	for i := range arrays {
		if arrays[i].type_ == blob {
			x[i] += ` || CAST('' AS bytea)`
		}
		in = append(in, fmt.Sprintf("%s AS x%d", x[i], i+1))
	}
	v := "(SELECT " + strings.Join(in, ", ") + " OFFSET 0) AS v"
	if sums != nil {
		v = sums.pgStepsOf(numbers, in, "")
	}
	from := pgLayer(v, begin, sums, arrays, more)
	for i := range s.layers {
		values := placed("z.z", "", s.layers[i].Length)
		for j, z := range values {
			values[j] = activated(s.Layers[i].Activation, z)
		}
		in = nil
		if s.lost() {
			in = []string{"z.y"}
		}
		if s.layers[i].isSmall() {
			from = pgLayer(s.layers[i].pgStepsOf(values, in, " FROM "+from), doubles(s.Layers[i].Biases), &s.layers[i], nil, more)
			continue
		}
		in = append([]string{pgArray(values) + " AS x1"}, in...)
		from = pgLayer(fmt.Sprintf("(SELECT %s FROM %s OFFSET 0) AS v", strings.Join(in, ", "), from), doubles(s.Layers[i].Biases), nil, s.layers[i:i+1], more)
	}
	all := placed("z.z", "", s.K)
	if s.K == 1 {
		return fmt.Sprintf("(SELECT %s FROM %s)", s.said(all, all[0], "z.y", ""), from)
	}
	exps := make([]string, s.K)
	for j, z := range all {
		exps[j] = "exp(greatest(" + z + " - z.m, -700))"
	}
	return fmt.Sprintf("(SELECT %s FROM (SELECT z.*, greatest(%s) AS m FROM %s OFFSET 0) AS z)", s.said(all, "z.m", "z.y", strings.Join(exps, " + ")), strings.Join(all, ", "), from)
}

// mostTerms is how many products are written out, which is faster than rows of arrays, and longer. A test changes it.
var mostTerms = 1 << 12

// mostSteps is of how many elements they are: a row of PostgreSQL has 1,600 columns.
const mostSteps = 500

// isSmall says that a layer's sums are written out.
func (l *linear) isSmall() bool { return l.Length <= mostSteps && l.Length*len(l.c) <= mostTerms }

// pgStepsOf is the row v of numbers as whole numbers of steps, n1 and on, NULL of NULL; more is kept beside them.
func (l *linear) pgStepsOf(numbers, more []string, from string) string {
	in, steps := slices.Clone(more), make([]string, len(numbers))
	for i, x := range numbers {
		e := fmt.Sprintf("e%d", i+1)
		in, steps[i] = append(in, x+" AS "+e), fmt.Sprintf("CASE WHEN e.%s IS NOT NULL THEN %s END AS n%d", e, l.pgSteps("e."+e), i+1)
	}
	return fmt.Sprintf("(SELECT e.*, %s FROM (SELECT %s%s OFFSET 0) AS e OFFSET 0) AS v", strings.Join(steps, ", "), strings.Join(in, ", "), from)
}

// pgSum is score j of the steps of v.
func (l *linear) pgSum(j int) string {
	terms := make([]string, len(l.c[j]))
	for i, c := range l.c[j] {
		terms[i] = fmt.Sprintf("v.n%d * (%s)", i+1, strconv.FormatFloat(c, 'f', -1, 64))
	}
	return fmt.Sprintf("%s + %s * (%s)", double(l.from[j]), double(l.unit[j]), strings.Join(terms, " + "))
}

// pgLayer is a row of scores z1 and on: what they begin with, the sums of the steps of v, and the parts of the arrays x1 and on of v. more is kept of v beside them.
func pgLayer(v string, begin []string, sums *linear, arrays []linear, more []string) string {
	read, zs := []string{v}, slices.Clone(begin)
	if sums != nil {
		for j := range zs {
			zs[j] += " + (" + sums.pgSum(j) + ")"
		}
	}
	for i := range arrays {
		read = append(read, arrays[i].postgres(fmt.Sprintf("v.x%d", i+1))+fmt.Sprintf(" AS a%d", i+1))
		for j := range zs {
			zs[j] += fmt.Sprintf(" + a%d.s%d", i+1, j+1)
		}
	}
	for j := range zs {
		zs[j] += fmt.Sprintf(" AS z%d", j+1)
	}
	return fmt.Sprintf("(SELECT %s FROM %s OFFSET 0) AS z", strings.Join(append(zs, more...), ", "), strings.Join(read, ", "))
}

func pgArray(list []string) string {
	return "CAST(ARRAY[" + strings.Join(list, ", ") + "] AS float8[])"
}

func doubles(list []float64) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = double(v)
	}
	return out
}

// activated is a layer's value of a score: NULL of NULL, and nothing overflows.
func activated(activation, z string) string {
	switch activation {
	case ActivationTanh:
		return fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN 1 - 2 / (exp(greatest(%d, least(%d, 2 * %s))) + 1) END", z, -mostTanh, mostTanh, z)
	case ActivationElu:
		return fmt.Sprintf("CASE WHEN %s >= 0 THEN %s WHEN %s < 0 THEN exp(greatest(%s, -700)) - 1 END", z, z, z, z)
	}
	return fmt.Sprintf("CASE WHEN %s >= 0 THEN %s WHEN %s < 0 THEN 0 END", z, z, z)
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
func (l *linear) duckSteps(e string) string { return l.steps(e, halfToEven) }

// halfToEven rounds a number of steps in DuckDB, whose round_even is a macro that computes powers: what is from 0 to 2^51 has no places after 2^52 is added, and addition rounds halves to even.
func halfToEven(_, x string) string { return fmt.Sprintf("(((%s) + %s) - %s)", x, wholes, wholes) }

// wholes is 2^52.
const wholes = "CAST('4503599627370496' AS double precision)"

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
	numbers, x := x[:s.numbers()], x[s.numbers():]
	var held, kept []string
	begin := make([]string, s.width())
	if len(s.layers) == 0 {
		held = append(held, fmt.Sprintf("'b': list_transform([%s], lambda _b: CASE WHEN _b > %s THEN %s WHEN _b < %s THEN %s ELSE _b END)", strings.Join(numbers, ", "), double(mostScore), double(mostScore), double(-mostScore), double(-mostScore)))
		begin = placed("_n.b[", "]", s.K)
	} else {
		begin = doubles(s.Biases)
	}
	if s.lost() {
		// In a list, as DuckDB may lose the name of a macro; see fill.
		held, kept, x = append(held, "'y': ["+x[0]+"][1]"), append(kept, "'y': _z.y"), x[1:]
	}
	arrays := s.arrays
	if s.Inputs > 0 {
		held = append(held, "'z': CAST(["+strings.Join(numbers, ", ")+"] AS DOUBLE[])")
		arrays = arrays[1:]
	}
	for i := range arrays {
		l, a := &arrays[i], x[i]
		elements := fmt.Sprintf("CASE WHEN len(%s) = %d AND list_count(%s) = %d THEN %s END", a, l.Length, a, l.Length, a)
		element := "_h"
		if l.type_ == blob {
			elements, element = fmt.Sprintf("regexp_extract_all(hex(CASE WHEN octet_length(%s) = %d THEN %s END), '..')", a, l.Length, a), "CAST('0x' || _h AS INTEGER)"
		}
		held = append(held, fmt.Sprintf("'n%d': list_transform(%s, lambda _h: %s)", len(s.arrays)-len(arrays)+i+1, elements, l.duckSteps(element)))
	}
	text := "[{" + strings.Join(held, ", ") + "}]"
	if s.Inputs > 0 {
		fields := append([]string{s.arrays[0].duckValues("_h")}, kept...)
		for i := range arrays {
			fields = append(fields, fmt.Sprintf("'n%d': _z.n%d", i+2, i+2))
		}
		text = duckFields(text, "_z", fields)
	}
	kept = nil
	if s.lost() {
		kept = []string{"'y': _n.y"}
	}
	text = duckFields(text, "_n", append([]string{duckScores(begin, s.arrays)}, kept...))
	for i := range s.layers {
		values := []string{s.layers[i].duckValues(activated(s.Layers[i].Activation, "_h"))}
		if s.lost() {
			values = append(values, "'y': _z.y")
		}
		text = duckFields(duckFields(text, "_z", values), "_n", append([]string{duckScores(doubles(s.Layers[i].Biases), s.layers[i:i+1])}, kept...))
	}
	found := []string{"'z': _z.z", "'m': list_max(_z.z)"}
	if s.lost() {
		found = append(found, "'y': _z.y")
	}
	return fmt.Sprintf("list_transform(%s, lambda _s: %s)[1]",
		duckFields(text, "_z", found), s.said(placed("_s.z[", "]", s.K), "_s.m", "_s.y", "list_sum(list_transform(_s.z, lambda _e: exp(greatest(_e - _s.m, -700))))"))
}

// duckFields computes a struct of the one that a list has.
func duckFields(list, name string, fields []string) string {
	return fmt.Sprintf("list_transform(%s, lambda %s: {%s})", list, name, strings.Join(fields, ", "))
}

// duckValues is the field n1 of what a value of the field z becomes, in steps: NULL where one of them is.
func (l *linear) duckValues(value string) string {
	return fmt.Sprintf("'n1': list_transform(list_transform(CASE WHEN list_count(_z.z) = %d THEN _z.z END, lambda _h: %s), lambda _h: %s)", l.Length, value, l.duckSteps("_h"))
}

// duckScores is the field z: what scores begin with, and the parts of the arrays n1 and on.
func duckScores(begin []string, arrays []linear) string {
	zs := slices.Clone(begin)
	for i := range arrays {
		l := &arrays[i]
		for j := range zs {
			zs[j] += fmt.Sprintf(" + (%s + %s * list_dot_product(_n.n%d, CAST('[%s]' AS DOUBLE[])))", double(l.from[j]), double(l.unit[j]), i+1, places64(l.c[j]))
		}
	}
	return "'z': [" + strings.Join(zs, ", ") + "]"
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
