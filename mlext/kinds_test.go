package mlext

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// released is a model of the kind over a feature of each kind, and its features' names.
func released(t *testing.T, kind string) (*Model, []string) {
	t.Helper()
	p := over(t, kind)
	m := p.model(make([]float64, p.size()), 0)
	var names []string
	for _, f := range m.Features {
		names = append(names, f.Name)
	}
	return m, names
}

// uses are what is made of a model by its kind.
var uses = map[string]func(m *Model, names []string) error{
	"dp_predict": func(m *Model, names []string) error { _, err := m.Predict(names, false); return err },
	"EVALUATE":   func(m *Model, names []string) error { _, err := m.Scoring(names, "y", false); return err },
	"ONNX":       func(m *Model, _ []string) error { _, err := m.ONNX(); return err },
	"the store": func(m *Model, _ []string) error {
		text, err := m.Encode()
		if err == nil {
			_, err = Decode(text)
		}
		return err
	},
}

// TestKinds: each kind of model predicts, is evaluated, exported and stored; a kind that is not known, such as one of a newer version, is refused by all of them, and read as no other.
func TestKinds(t *testing.T) {
	for _, f := range families {
		m, names := released(t, f.name)
		for what, use := range uses {
			inSQL := what == "dp_predict" || what == "EVALUATE"
			if err := use(m, names); (err != nil) != (f.images && inSQL) {
				t.Errorf("%s: %s: %v", f.name, what, err)
			}
		}
		if _, err := m.Predict(names, true); (err == nil) != (f.of(&m.Target).shares && !f.images) {
			t.Errorf("%s: dp_predict_proba: %v", f.name, err)
		}
		for _, kind := range []string{"", "transformer", f.aliases[0]} {
			m.Kind = kind
			for what, use := range uses {
				if err := use(m, names); sqlerr.ID(err) != sqlerr.Unsupported.ID {
					t.Errorf("a model of kind %q, with scores of a %s: %s: %v", kind, f.name, what, err)
				}
			}
		}
		of := family{name: "new", target: "new"}
		if _, err := m.says(&of, "z", false); err == nil {
			t.Error("what no case is for is said")
		}
		if _, err := m.predictScores(&of, names, false); err == nil {
			t.Error("what no case is for is predicted")
		}
		if err := (&graph{}).says(m, &of); err == nil {
			t.Error("what no case is for is exported")
		}
	}
}

// TestDecode: a stored text that is no whole model is refused, whatever is missing.
func TestDecode(t *testing.T) {
	for what, spoil := range map[string]func(m *Model){
		"a score":          func(m *Model) { m.Scores = m.Scores[1:] },
		"all features":     func(m *Model) { m.Features, m.Scores = nil, []Score{{}, {}, {}} },
		"a feature":        func(m *Model) { m.Features = m.Features[1:] },
		"a coefficient":    func(m *Model) { m.Scores[1].Coefficients[5] = m.Scores[1].Coefficients[5][1:] },
		"an element":       func(m *Model) { m.Scores[2].Coefficients[6] = nil },
		"the target's set": func(m *Model) { m.Target.Levels = nil },
	} {
		m, _ := released(t, "softmax_regression")
		spoil(m)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(text); err == nil {
			t.Errorf("a model without %s is read", what)
		}
	}
}

// TestOldModels: a model that was stored before models had a form reads NULL as its card says that it was trained; one of a later form is refused.
func TestOldModels(t *testing.T) {
	for _, middle := range []bool{true, false} {
		m, _ := released(t, "linear_regression")
		text, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		delete(fields, "form")
		fields["card"] = []Fact{{"missing", map[bool]string{true: MissingMiddle, false: "rows with a missing value are left out"}[middle]}}
		if text, err = json.Marshal(fields); err != nil {
			t.Fatal(err)
		}
		if old, err := Decode(text); err != nil || old.Fill != middle {
			t.Errorf("an old model, of the middle: %t: %v", middle, err)
		}
		fields["form"] = form + 1
		if text, err = json.Marshal(fields); err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(text); sqlerr.ID(err) != sqlerr.Unsupported.ID {
			t.Errorf("a newer model: %v", err)
		}
	}
}

// goKeys are the keys of features and facts as models were stored before they had names of their own.
var goKeys = strings.NewReplacer(`"name"`, `"Name"`, `"value"`, `"Value"`, `"levels"`, `"Levels"`, `"boolean"`, `"Boolean"`, `"lo"`, `"Lo"`, `"hi"`, `"Hi"`, `"from"`, `"From"`, `"to"`, `"To"`, `"type"`, `"Type"`, `"length"`, `"Length"`)

// TestExportedKeys: what is exported has keys in lower case alone, and a model stored under Go's names is read as the same one.
func TestExportedKeys(t *testing.T) {
	m, _ := released(t, "softmax_regression")
	text, err := m.Export()
	if err != nil {
		t.Fatal(err)
	}
	if upper := regexp.MustCompile(`"[a-z_]*[A-Z]\w*":`).FindAll(text, -1); upper != nil {
		t.Errorf("keys: %s", upper)
	}
	old, err := Decode([]byte(goKeys.Replace(string(text))))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := old.Export(); err != nil || !bytes.Equal(again, text) {
		t.Errorf("%v\n%s\n%s", err, text, again)
	}
}
