package sqlerr

import (
	"slices"
	"strings"
)

// Nearest finds the most similar of some names, for hints; "" if none is near: a third of the name may differ, and less than half of either.
// The names are those that the reader may see.
func Nearest(name string, names []string) string {
	best, least := "", max(1, len(name)/3)
	for _, n := range names {
		most := min(least, (min(len(name), len(n))-1)/2)
		if d := distance(name, n, most); d <= most && (best == "" || d < least || n < best) {
			best, least = n, d
		}
	}
	return best
}

// NearestValue is Nearest among a column's few values, of which a text is meant to be one: also in another case, the only one that begins with the text, and of those that begin with the same two letters one of which up to half differs.
func NearestValue(text string, values []string) string {
	if i := slices.IndexFunc(values, func(v string) bool { return strings.EqualFold(v, text) }); i >= 0 {
		return values[i]
	}
	if near := Nearest(text, values); near != "" || text == "" {
		return near
	}
	begins := func(n int) (list []string) {
		for _, v := range values {
			if n <= min(len(v), len(text)) && strings.EqualFold(v[:n], text[:n]) {
				list = append(list, v)
			}
		}
		return list
	}
	if list := begins(len(text)); len(list) == 1 {
		return list[0]
	}
	best, least := "", len(text)
	for _, v := range begins(2) {
		most := min(least-1, min(len(text), len(v))/2)
		if d := distance(text, v, most); d <= most {
			best, least = v, d
		}
	}
	return best
}

// distance is the Levenshtein distance, by bytes, with a swap of neighbours as one step; most+1 for any that is above most.
func distance(a, b string, most int) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if max(len(a)-len(b), len(b)-len(a)) > most {
		return most + 1
	}
	rows := make([]int, 3*(len(b)+1))
	before, last, row := rows[:len(b)+1], rows[len(b)+1:2*(len(b)+1)], rows[2*(len(b)+1):]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j], least = d, min(least, d)
		}
		if least > most+1 { // a swap takes from the row before the last one
			return most + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], most+1)
}
