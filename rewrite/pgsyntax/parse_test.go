package pgsyntax

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// corpus gives the statements of testdata/corpus.sql.
func corpus(t testing.TB) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/corpus.sql")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		switch {
		case strings.HasPrefix(line, "-- "):
		case strings.HasPrefix(line, " "): // the rest of the statement above
			out[len(out)-1] += "\n" + line
		default:
			out = append(out, line)
		}
	}
	return out
}

// clients gives the statements of ../shared/clients where they are.
func clients(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, name := range []string{"bi-analytic.jsonl", "metadata.jsonl"} {
		f, err := os.Open("../../../shared/clients/" + name)
		if err != nil {
			t.Logf("without %s: %v", name, err)
			continue
		}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			var d struct{ SQL string }
			if err := json.Unmarshal(sc.Bytes(), &d); err != nil {
				t.Fatal(err)
			}
			out = append(out, d.SQL)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// stripped is a copy of a tree's values without positions, for comparing.
func stripped(v any) any {
	return strip(reflect.ValueOf(v))
}

func strip(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return []any{v.Elem().Type().String(), strip(v.Elem())}
	case reflect.Slice:
		out := []any{}
		for i := 0; i < v.Len(); i++ {
			out = append(out, strip(v.Index(i)))
		}
		return out
	case reflect.Struct:
		out := []any{}
		for i := 0; i < v.NumField(); i++ {
			if v.Type().Field(i).Name == "Literal" && v.Type() == reflect.TypeOf(Cast{}) || v.Field(i).Type() != reflect.TypeOf(Pos(0)) {
				out = append(out, strip(v.Field(i)))
			}
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for _, k := range v.MapKeys() {
			out[k.String()] = strip(v.MapIndex(k))
		}
		return out
	}
	return v.Interface()
}

// checkPrint fails if the print of a statement does not parse to the same tree.
func checkPrint(t *testing.T, text string, st Statement) {
	t.Helper()
	if o, ok := st.Node.(*Other); ok && o.Read == nil {
		return
	}
	if e, ok := st.Node.(*Explain); ok {
		if o, ok := e.Query.(*Other); ok && o.Read == nil {
			return
		}
	}
	printed := Print(st.Node)
	again, err := Parse(printed)
	if errors.Is(err, &sqlerr.Error{ID: sqlerr.TooComplex.ID}) {
		return // the print may need more parentheses than the text had
	}
	if err != nil {
		t.Fatalf("%s\nprint: %s\n%v", text, printed, err)
	}
	if len(again) != 1 || !reflect.DeepEqual(stripped(again[0].Node), stripped(st.Node)) {
		t.Fatalf("%s\nprint: %s\nprint of print: %s\n%#v\n%#v", text, printed, Print(again[0].Node), stripped(st.Node), stripped(again[0].Node))
	}
}

func TestPrintParses(t *testing.T) {
	for _, text := range corpus(t) {
		sts, err := Parse(text)
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		for _, st := range sts {
			checkPrint(t, text, st)
		}
	}
}

// TestClients reads what real clients send: all of it, but for the few statements named here.
func TestClients(t *testing.T) {
	refused := []string{"information_schema._pg_expandarray", "{call version()}", "(result.keys)"}
	for _, text := range clients(t) {
		sts, err := Parse(text)
		if err != nil {
			known := false
			for _, r := range refused {
				known = known || strings.Contains(text, r)
			}
			if !known {
				t.Errorf("%s\n%v", text, err)
			}
			continue
		}
		for _, st := range sts {
			checkPrint(t, text, st)
		}
	}
}
