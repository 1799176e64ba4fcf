package pgsyntax

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// TestGolden runs testdata/golden: "tree" prints the tree of each statement, "read" the print of each line, "refuse" the error of
// each line with the text at its position; a refuse that parses, or a tree or read that does not, fails whatever the file says.
// The oracle asks PostgreSQL's parser about each line of testdata/golden/features too.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "refuse" {
				var b strings.Builder
				for _, text := range strings.Split(d.Input, "\n") {
					b.WriteString(refusal(t, text) + "\n")
				}
				return b.String()
			}
			if d.Cmd == "read" {
				var b strings.Builder
				for _, text := range strings.Split(d.Input, "\n") {
					sts, err := Parse(text)
					if err != nil {
						t.Errorf("%s: %v", text, err)
						continue
					}
					checkPrint(t, text, sts[0])
					b.WriteString(Print(sts[0].Node) + "\n")
				}
				return b.String()
			}
			sts, err := Parse(d.Input)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			var b strings.Builder
			for _, st := range sts {
				fmt.Fprintf(&b, "%s\n", dump(reflect.ValueOf(st.Node)))
			}
			return b.String()
		})
	})
}

// refusal is the error of a statement: its code, its message, and what stands at its position.
func refusal(t *testing.T, text string) string {
	t.Helper()
	_, err := Parse(text)
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		t.Errorf("not refused: %s", text)
		return "ok"
	}
	at := "nowhere"
	if e.Pos > 0 {
		at = "\"" + clip(text[e.Pos-1:]) + "\""
	}
	hint := ""
	if e.Hint != "" {
		hint = " | " + e.Hint
	}
	return fmt.Sprintf("%s %s at %s%s", e.Code, e.Message, at, hint)
}

// dump writes a tree as nested lists, without positions and empty fields.
func dump(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		return dump(v.Elem())
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = dump(v.Index(i))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Struct:
		parts := []string{v.Type().Name()}
		for i := 0; i < v.NumField(); i++ {
			f := v.Field(i)
			name := v.Type().Field(i).Name
			if f.IsZero() || f.Type() == reflect.TypeOf(Pos(0)) || f.Type() == reflect.TypeOf(Span{}) {
				continue
			}
			switch {
			case v.NumField() <= 3 && v.Type() != reflect.TypeOf(TypeName{}), name == "Left", name == "Right", name == "X", name == "Op", name == "Expr":
				parts = append(parts, dump(f))
			case f.Kind() == reflect.Bool:
				parts = append(parts, name)
			default:
				parts = append(parts, name+":"+dump(f))
			}
		}
		return "(" + strings.Join(parts, " ") + ")"
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	}
	return fmt.Sprint(v.Interface())
}
