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
		if d := distance(name, n); d <= least && 2*d < min(len(name), len(n)) && (best == "" || d < distance(name, best) || d == distance(name, best) && n < best) {
			best = n
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
	best := ""
	for _, v := range begins(2) {
		if d := distance(text, v); 2*d <= min(len(text), len(v)) && (best == "" || d < distance(text, best)) {
			best = v
		}
	}
	return best
}

// distance is the Levenshtein distance, by bytes, with a swap of neighbours as one step.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
