package main

import (
	"embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

//go:embed statements/*.sql
var listed embed.FS

// statement is a plain statement of a schema's list, cut into its parts.
type statement struct {
	schema, name, sql string
	unit              string // SQL that leads from a row to its person; "none": there is no yardstick
	items             []item // what it selects
	from, group, tail string // FROM ... WHERE; what stands after GROUP BY; HAVING, ORDER BY, LIMIT
}

// item is one column of an answer: a key, or what is computed of aggregates.
type item struct {
	text       string // without its name
	aggregates bool
	refused    string // why there is no interval for it
}

var (
	header    = regexp.MustCompile(`(?m)^-- ([^\n]*)\n((?:[^-\n].*\n)+)`)
	aggregate = regexp.MustCompile(`(?i)\b(count|sum|avg|min|max|stddev|variance|median|percentile_cont)\s*\(`)
	rolledUp  = regexp.MustCompile(`(?i)^ROLLUP\s*\((.*)\)$`)
	alias     = regexp.MustCompile(`(?i)\s+AS\s+"?\w+"?\s*$`)
)

// statementsOf reads a schema's list: a line with the name, and "; unit: SQL" where the schema's own way to the person is not the one; then the statement.
func statementsOf(s *schema) (out []*statement, err error) {
	list := s.statements
	if list == "" {
		text, err := listed.ReadFile("statements/" + s.name + ".sql")
		if err != nil {
			return nil, err
		}
		list = string(text)
	}
	seen := map[string]bool{}
	for _, m := range header.FindAllStringSubmatch(list+"\n", -1) {
		name, unit, found := strings.Cut(m[1], "; unit: ")
		if !found {
			unit = s.path
		}
		st := &statement{schema: s.name, name: name, unit: unit, sql: strings.TrimSuffix(strings.TrimSpace(m[2]), ";")}
		if err := st.cut(); err != nil || seen[name] {
			return nil, fmt.Errorf("statements/%s.sql: %q is there twice, or cannot be read: %w", s.name, name, err)
		}
		seen[name] = true
		out = append(out, st)
	}
	return out, nil
}

// outer gives the places of words outside of parentheses and quotes, in capitals.
func outer(sql string, words ...string) map[string]int {
	at, depth, quoted := map[string]int{}, 0, false
	for i := 0; i < len(sql); i++ {
		switch c := sql[i]; {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0 && (i == 0 || strings.ContainsRune(" \n,", rune(sql[i-1]))):
			for _, w := range words {
				if _, seen := at[w]; !seen && (w == "," && c == ',' || strings.HasPrefix(strings.ToUpper(sql[i:]), w+" ")) {
					at[w] = i
				}
			}
		}
	}
	return at
}

// commas cuts a list at the commas that are outside of parentheses and quotes.
func commas(text string) (out []string) {
	depth, quoted, begin := 0, false, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			out, begin = append(out, strings.TrimSpace(text[begin:i])), i+1
		}
	}
	return append(out, strings.TrimSpace(text[begin:]))
}

func (st *statement) cut() error {
	at := outer(st.sql, "SELECT", "FROM", "GROUP BY", "HAVING", "ORDER BY", "LIMIT")
	from, ok := at["FROM"]
	if !ok || at["SELECT"] != 0 {
		return fmt.Errorf("no SELECT ... FROM in %s", st.sql)
	}
	for _, text := range commas(st.sql[len("SELECT "):from]) {
		text = alias.ReplaceAllString(text, "")
		st.items = append(st.items, item{text: text, aggregates: aggregate.MatchString(text) && !strings.HasPrefix(text, "grouping(")})
	}
	rest := len(st.sql)
	for _, w := range []string{"HAVING", "ORDER BY", "LIMIT"} {
		if i, ok := at[w]; ok {
			rest = min(rest, i)
		}
	}
	end := rest
	if i, ok := at["GROUP BY"]; ok {
		end, st.group = i, strings.TrimSpace(st.sql[i+len("GROUP BY "):rest])
	}
	st.from, st.tail = strings.TrimSpace(st.sql[from:end]), strings.TrimSpace(st.sql[rest:])
	if m := rolledUp.FindStringSubmatch(st.group); m != nil { // tells a total from the group of NULL
		keys := commas(m[1])
		for i, k := range keys {
			if at, err := strconv.Atoi(k); err == nil && at >= 1 && at <= len(st.items) {
				keys[i] = st.items[at-1].text
			}
		}
		st.items = append(st.items, item{text: "grouping(" + strings.Join(keys, ", ") + ")"})
	}
	return nil
}

// print is the statement of some items and what follows them.
func (st *statement) print(items []string, more []string, group, tail string) string {
	sql := "SELECT " + strings.Join(append(items[:len(items):len(items)], more...), ", ") + " " + st.from
	if group != "" {
		sql += " GROUP BY " + group
	}
	return strings.TrimSpace(sql + " " + tail)
}

func (st *statement) texts() (out []string) {
	for _, i := range st.items {
		out = append(out, i.text)
	}
	return out
}

// asked is the statement as an analyst asks for intervals.
func (st *statement) asked() string {
	var more []string
	for _, i := range st.items {
		if i.aggregates && i.refused == "" {
			more = append(more, "dp_low("+i.text+")", "dp_high("+i.text+")")
		}
	}
	return st.print(st.texts(), more, st.group, st.tail)
}

// chosen says that the answer has some of its rows only.
func (st *statement) chosen() bool {
	return strings.Contains(st.tail, "HAVING ") || strings.Contains(st.tail, "LIMIT ")
}

// truth is the plain statement over all groups, whichever of them an answer shows.
func (st *statement) truth() string { return st.print(st.texts(), nil, st.group, "") }

// partials is the plain statement for each person by itself; averages and extremes are told by their rows.
func (st *statement) partials() string {
	group := fmt.Sprint(len(st.items) + 1)
	if st.group != "" {
		group = st.group + ", " + group
	}
	items := st.texts()
	for i, x := range st.items {
		if x.aggregates && !x.adds() {
			items[i] = "count(*)"
		}
	}
	return st.print(items, []string{"(" + st.unit + ")"}, group, "")
}

var additive = regexp.MustCompile(`(?i)^(count|sum)\s*\(`)

// adds says that people's parts add up to the answer.
func (i item) adds() bool {
	return additive.MatchString(i.text) && closes(i.text) && !strings.Contains(strings.ToLower(i.text), "over (")
}

// closes says that the first parenthesis ends the text.
func closes(text string) bool {
	depth := 0
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i == len(text)-1
			}
		}
	}
	return false
}
