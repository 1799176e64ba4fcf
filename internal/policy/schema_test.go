package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestSchema: every policy that the reader takes, of the golden files and of the pages, is one by Schema; and one with a misspelt key, a missing one or a value of another kind is none.
func TestSchema(t *testing.T) {
	schema := Schema()
	taken := 0
	for _, text := range policyTexts(t) {
		if _, err := parse("p.yaml", []byte(text), testEnv); err != nil {
			continue
		}
		taken++
		if problems := schemaProblems(schema, decodedPolicy(t, text), "policy"); len(problems) > 0 {
			t.Errorf("%v in\n%s", problems, text)
		}
	}
	if taken < 30 {
		t.Errorf("only %d policies were held against the schema", taken)
	}
	good := with("")
	if problems := schemaProblems(schema, decodedPolicy(t, good), "policy"); len(problems) > 0 {
		t.Fatal(problems)
	}
	for what, bad := range map[string]string{
		"a misspelt key":         with("datset: d"),
		"a misspelt inner key":   with("query: {prise: 1}"),
		"a word for a number":    with("query: {price: cheap}"),
		"an unknown word":        with("query: {mechanism: magic}"),
		"a list for a mapping":   with("query: [1]"),
		"a missing required key": strings.Replace(good, "dataset:", "# dataset:", 1),
	} {
		if len(schemaProblems(schema, decodedPolicy(t, bad), "policy")) == 0 {
			t.Errorf("%s is taken:\n%s", what, bad)
		}
	}
}

// policyTexts are the policies of the golden files and of the pages' YAML blocks.
func policyTexts(t *testing.T) (out []string) {
	t.Helper()
	golden, err := filepath.Glob("testdata/golden/*")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?ms)^(policy|with|bind)\n(.*?)^----$`)
	block := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	for _, path := range append(golden, pages...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
			if m[1] == "policy" {
				out = append(out, m[2])
			} else {
				out = append(out, with(m[2]))
			}
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			out = append(out, m[1])
		}
	}
	return out
}

// decodedPolicy is a policy as an editor's validator sees it.
func decodedPolicy(t *testing.T, text string) (v any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// exponent is a number that YAML 1.2 knows and YAML 1.1 does not.
var exponent = regexp.MustCompile(`^[0-9.]+e[-+]?[0-9]+$`)

// schemaProblems holds a value against the part of JSON schema that Schema uses.
func schemaProblems(schema map[string]any, v any, at string) (out []string) {
	if list, ok := schema["anyOf"].([]any); ok {
		for _, one := range list {
			if out = schemaProblems(one.(map[string]any), v, at); len(out) == 0 {
				return nil
			}
		}
		return append(out, at+": none of several")
	}
	if words, ok := schema["enum"].([]any); ok {
		if !slices.Contains(words, v) {
			out = append(out, fmt.Sprintf("%s: %v is not one of %v", at, v, words))
		}
		return out
	}
	kind := map[bool]string{true: "null"}[v == nil]
	switch v := v.(type) {
	case map[string]any:
		kind = "object"
		properties, _ := schema["properties"].(map[string]any)
		for k, x := range v {
			sub, known := properties[k].(map[string]any)
			if !known {
				if sub, known = schema["additionalProperties"].(map[string]any); !known {
					if schema["additionalProperties"] == false {
						out = append(out, at+": unknown key "+k)
					}
					continue
				}
			}
			out = append(out, schemaProblems(sub, x, at+"."+k)...)
		}
		required, _ := schema["required"].([]any)
		for _, k := range required {
			if _, ok := v[k.(string)]; !ok {
				out = append(out, fmt.Sprintf("%s: %s is missing", at, k))
			}
		}
	case []any:
		kind = "array"
		if sub, ok := schema["items"].(map[string]any); ok {
			for i, x := range v {
				out = append(out, schemaProblems(sub, x, fmt.Sprintf("%s[%d]", at, i))...)
			}
		}
	case string:
		if kind = "string"; exponent.MatchString(v) { // this library takes it for a text, as YAML 1.1 does; editors do not
			kind = "number"
		}
	case float64, int64, uint64:
		kind = "number"
	case bool:
		kind = "boolean"
	}
	switch want := schema["type"].(type) {
	case string:
		if kind != want {
			out = append(out, fmt.Sprintf("%s is a %s, not a %s", at, kind, want))
		}
	case []any:
		if !slices.Contains(want, any(kind)) {
			out = append(out, fmt.Sprintf("%s is a %s, not one of %v", at, kind, want))
		}
	}
	return out
}
