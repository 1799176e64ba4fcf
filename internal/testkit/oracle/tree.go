package oracle

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// tree is PostgreSQL's parse tree of a text, without positions and without the spellings that mean the same.
func tree(text string) (any, error) {
	s, err := pgquery.ParseToJSON(text)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v struct{ Stmts []struct{ Stmt any } }
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("tree: %w", err)
	}
	out := []any{}
	for _, st := range v.Stmts {
		out = append(out, clean(st.Stmt))
	}
	return out, nil
}

func clean(v any) any {
	switch x := v.(type) {
	case []any:
		for i := range x {
			x[i] = clean(x[i])
		}
	case map[string]any:
		delete(x, "location")
		for k := range x {
			x[k] = clean(x[k])
		}
		if j, ok := x["JoinExpr"].(map[string]any); ok && j["alias"] != nil { // (a JOIN b) AS j is (SELECT * FROM a JOIN b) AS j
			star := map[string]any{"ColumnRef": map[string]any{"fields": []any{map[string]any{"A_Star": map[string]any{}}}}}
			all := map[string]any{"targetList": []any{map[string]any{"ResTarget": map[string]any{"val": star}}}, "fromClause": []any{x},
				"limitOption": "LIMIT_OPTION_DEFAULT", "op": "SETOP_NONE"}
			named := map[string]any{"RangeSubselect": map[string]any{"subquery": map[string]any{"SelectStmt": all}, "alias": j["alias"]}}
			delete(j, "alias")
			return named
		}
		if x["sortby_dir"] == "SORTBY_ASC" { // ASC is the default
			x["sortby_dir"] = "SORTBY_DEFAULT"
		}
		if n, ok := x["frameOptions"].(json.Number); ok { // the bit that BETWEEN was written
			f, _ := n.Int64()
			x["frameOptions"] = f &^ 16
		}
		if isNull(x["limitCount"]) { // LIMIT ALL
			delete(x, "limitCount")
		}
		if x["limitOption"] == "LIMIT_OPTION_COUNT" {
			x["limitOption"] = "LIMIT_OPTION_DEFAULT"
		}
		if f, ok := x["fval"].(string); ok && strings.HasPrefix(f, "0") {
			if n, ok := new(big.Int).SetString(f, 0); ok && len(f) > 1 {
				x["fval"] = n.String()
			}
		}
		if f, ok := x["fval"].(string); ok { // 1_000.0
			x["fval"] = strings.ReplaceAll(f, "_", "")
		}
		if f, ok := x["funcname"].([]any); ok && len(f) == 2 && name(f[0]) == "pg_catalog" && name(f[1]) == "json_object" {
			x["funcname"] = f[1:] // version 17 adds the schema, 15 does not
		}
		if b, ok := x["arrayBounds"].([]any); ok { // the sizes mean nothing
			x["arrayBounds"] = len(b)
		}
	}
	return v
}

func isNull(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	c, ok := m["A_Const"].(map[string]any)
	return ok && c["isnull"] == true
}

// Same says whether two texts mean the same to PostgreSQL.
func Same(a, b string) (bool, error) {
	x, err := tree(a)
	if err != nil {
		return false, err
	}
	y, err := tree(b)
	if err != nil {
		return false, fmt.Errorf("the print: %w", err)
	}
	return reflect.DeepEqual(x, y), nil
}

// name is the text of a String node.
func name(v any) string {
	m, _ := v.(map[string]any)
	s, _ := m["String"].(map[string]any)
	text, _ := s["sval"].(string)
	return text
}
