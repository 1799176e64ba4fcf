package funcs

import (
	gojson "encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestLambdaParameters: no column of a print is taken for a lambda's parameter (sqlgen's projected). DuckDB takes a parameter's field for that of a column with the parameter's name, and one in another case for the column.
func TestLambdaParameters(t *testing.T) {
	lambda := regexp.MustCompile(`lambda (\w+):`)
	texts := map[string]string{"simple CASE": DuckDB.SimpleCase("«0»", " WHEN 1 THEN 2")}
	for _, f := range tested(t) {
		for _, result := range results(f) {
			for _, size := range []int{0, inlineLimit} {
				args := make([]string, len(f.Args))
				for i := range args {
					args[i] = fmt.Sprintf("«%d%s»", i, strings.Repeat(" ", size))
				}
				for _, form := range []Forms{f.TotalForm, f.RaisingForm} {
					if form != nil {
						texts[signature(f, result)] += " " + form.Print(DuckDB, args, types(f), result)
					}
				}
			}
		}
	}
	for i, c := range scoreCases() {
		what, err := gojson.Marshal(c.what)
		if err != nil {
			t.Fatal(err)
		}
		types, printed := []sqltype.OID{f8, f8, f8}[:c.k], []string{"", "«0»", "«1»", "«2»"}[:c.k+1]
		if c.what.Of == ScoreLoss {
			types, printed = append(types[:c.k:c.k], i4), append(printed[:c.k+1:c.k+1], "«y»")
		}
		typ := sqltype.Type{OID: blob}
		if c.elem != blob {
			typ, _ = sqltype.ArrayOf(sqltype.Type{OID: c.elem, Typmod: -1})
		}
		f, err := NewScores(string(what), append(types, typ.OID))
		if err != nil {
			t.Fatal(err)
		}
		texts[fmt.Sprintf("scores %d", i)] = f.TotalForm.Print(DuckDB, append(printed, "«a»"), nil, sqltype.Float8)
	}
	found, fields := 0, 0
	for of, text := range texts {
		for _, m := range lambda.FindAllStringSubmatch(text, -1) {
			found++
			p := m[1]
			if strings.Contains(text, p+".") {
				fields++
			}
			if p != strings.ToLower(p) || strings.HasPrefix(p, "c_") || regexp.MustCompile(`^t\d+$`).MatchString(p) || !strings.HasPrefix(p, "_") && regexp.MustCompile(`\b`+p+`\.[a-z_]`).MatchString(text) {
				t.Errorf("%s: parameter %s of %s", of, p, text)
			}
		}
	}
	if found < 100 || fields == 0 {
		t.Errorf("%d parameters, %d with fields", found, fields)
	}
}
