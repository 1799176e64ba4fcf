package postgres

import (
	"reflect"
	"testing"
)

func TestParseTree(t *testing.T) {
	got, err := parseTree(`({A :x 1 :name :odd\ na\(me :list ("a" {B :constvalue 2 [ 1 -1 ]} (b 1)) :none <> :constvalue <>})`)
	if err != nil {
		t.Fatal(err)
	}
	want := []any{&treeNode{label: "A", fields: map[string]any{"x": "1", "name": `:odd\ na\(me`, "none": "<>", "constvalue": "<>",
		"list": []any{`"a"`, &treeNode{label: "B", fields: map[string]any{"constvalue": datum{1, 255}}}, []any{"b", "1"}}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%#v", got)
	}
	for _, bad := range []string{"", "(", ")", "{", "{A", "{A :x", "{A :x}", "{A x 1}", "{A :x 1 2}", "{A :x 1 :x 2}", "(a) b", "{A :constvalue 1 [ x ]}",
		"{A :constvalue 1 [ 300 ]}", "{A :constvalue 1 [ 1", "{A :constvalue 1}", `(a\`, "{A :x )}"} {
		if v, err := parseTree(bad); err == nil {
			t.Errorf("%q is %#v", bad, v)
		}
	}
}

func FuzzParseTree(f *testing.F) {
	f.Add(`({A :x 1 :list ("a" {B :constvalue 2 [ 1 -1 ]} (b 1)) :none <>})`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseTree(text)
		if (v == nil) != (err != nil) {
			t.Errorf("%v with %v", v, err)
		}
		walkTree(v, func(n *treeNode) { _, _ = n.nodes("args") })
	})
}
