package secret_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"text/template"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Each value's text, in the forms in which a printer could show it.
var samples = []struct {
	value sqltype.Value
	shows []string
}{
	{"sesame", []string{"sesame", "736573616d65", "[115 101"}},
	{int64(8675309), []string{"8675309", "845fed"}},
	{2.718281828, []string{"2.718", "4613303445"}},
	{decimal.RequireFromString("31415926.5"), []string{"31415926", "314159265"}},
	{sqltype.Days(7654321), []string{"7654321", "74cbb1"}},
	{sqltype.Micros(1234567890123), []string{"1234567890123"}},
	{&secret.Numbers{Rows: 1, Cells: []int64{8675309}, Null: []bool{false}}, []string{"8675309", "845fed"}},
}

// holder and pair are how other code holds values: fmt cannot call methods through the unexported field.
type holder struct{ v secret.Value }

type pair struct {
	A secret.Value
	B *secret.Value
	C any
}

// shapes are a value and the ways in which it may be wrapped when something prints it.
func shapes(v secret.Value) map[string]any {
	return map[string]any{
		"value": v, "pointer": &v, "slice": []secret.Value{v}, "slice of slices": [][]secret.Value{{v}}, "array": [1]secret.Value{v},
		"map": map[string]secret.Value{"k": v}, "unexported": holder{v}, "pointer to unexported": &holder{v},
		"slice of unexported": []holder{{v}}, "map of unexported": map[int]*holder{1: {v}}, "exported": pair{v, &v, v},
		"interface": any(any(v)), "error": fmt.Errorf("wrapped: %v", v), "joined": errors.Join(fmt.Errorf("%+v", holder{v})),
	}
}

func TestNothingPrintsAValue(t *testing.T) {
	for _, s := range samples {
		v := secret.Of(s.value)
		for name, shape := range shapes(v) {
			for how, text := range printed(shape) {
				for _, shown := range s.shows {
					if strings.Contains(strings.ToLower(text), shown) {
						t.Errorf("%T as %s by %s: %q", s.value, name, how, text)
					}
				}
			}
		}
		if got := fmt.Sprintf("%v|%s|%d|%+v|%#v", v, v, v, v, v); got != strings.Repeat("(secret)|", 4)+"(secret)" {
			t.Errorf("a value prints as %q", got)
		}
	}
}

// Whether a value is NULL is as private as the value.
func TestNullPrintsAsAnyOther(t *testing.T) {
	null, other := printed(holder{secret.Of(nil)}), printed(holder{secret.Of("sesame")})
	for how := range null {
		if null[how] != other[how] {
			t.Errorf("by %s NULL prints as %q, a value as %q", how, null[how], other[how])
		}
	}
	if reflect.DeepEqual(secret.Of(nil), secret.Of(nil)) {
		t.Error("reflect.DeepEqual tells NULL from a value")
	}
}

func printed(v any) map[string]string {
	out := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%b", "%o", "%O", "%c", "%U", "%e", "%f", "%g", "%t", "%p",
		"%08.3f", "%+d", "%!", "%T", "%w", "%z"} {
		out[verb] = fmt.Sprintf(verb, v)
	}
	out["Sprint"] = fmt.Sprint(v)
	out["Errorf"] = fmt.Errorf("failed on %v", v).Error()
	var b bytes.Buffer
	timeless := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	slog.New(slog.NewTextHandler(&b, timeless)).Info("m", "v", v)
	slog.New(slog.NewJSONHandler(&b, timeless)).Info("m", slog.Any("v", v), slog.Group("g", "v", v))
	log.New(&b, "", 0).Println(v)
	if text, err := json.Marshal(v); err == nil {
		b.Write(text)
	} else {
		b.WriteString(err.Error())
	}
	if text, err := xml.Marshal(v); err == nil {
		b.Write(text)
	} else {
		b.WriteString(err.Error())
	}
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		b.WriteString(err.Error())
	}
	if err := template.Must(template.New("").Parse("{{.}} {{printf \"%v\" .}}")).Execute(&b, v); err != nil {
		b.WriteString(err.Error())
	}
	out["log, encoders, template"] = b.String()
	return out
}

func TestMarshallingIsRefused(t *testing.T) {
	v := secret.Of("sesame")
	for name, err := range map[string]error{
		"json":         second(json.Marshal(v)),
		"json in map":  second(json.Marshal(map[string]any{"v": v})),
		"json in list": second(json.Marshal([]secret.Value{v})),
		"text":         second(v.MarshalText()),
		"gob":          gob.NewEncoder(new(bytes.Buffer)).Encode(v),
	} {
		if err == nil {
			t.Errorf("%s: marshalled", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// == on a Value does not compile, and what compares at run time learns nothing.
func TestNothingComparesValues(t *testing.T) {
	if reflect.TypeFor[secret.Value]().Comparable() {
		t.Error("secret.Value is comparable")
	}
	a, b := secret.Of("sesame"), secret.Of("sesame")
	if reflect.DeepEqual(a, b) || reflect.DeepEqual(a, a) {
		t.Error("reflect.DeepEqual compares values")
	}
	defer func() {
		if recover() == nil {
			t.Error("comparing through interfaces does not panic")
		}
	}()
	_ = any(a) == any(b)
}

func TestOpenGivesBackWhatWasHidden(t *testing.T) {
	for _, s := range samples {
		if got := secret.Open(secret.Of(s.value)); !reflect.DeepEqual(got, s.value) {
			t.Errorf("hid %v, opened %v", s.value, got)
		}
	}
	if secret.Open(secret.Value{}) != nil || secret.Open(secret.Of(nil)) != nil {
		t.Error("NULL does not open as nil")
	}
}
