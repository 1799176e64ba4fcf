package pgcat

import "testing"

// TestLoad: the tables parse, and what refers to another row finds it.
func TestLoad(t *testing.T) {
	for _, x := range load().types {
		for _, o := range []OID{x.Array, x.Base, x.Subtype, x.Range, x.Multirange} {
			if o != 0 && TypeOf(o) == nil {
				t.Errorf("type %s refers to %d", x.Name, o)
			}
		}
	}
	for _, list := range load().opers {
		for _, x := range list {
			if ProcOf(x.Proc) == nil || TypeOf(x.Right) == nil || TypeOf(x.Result) == nil {
				t.Errorf("operator %s %d", x.Name, x.OID)
			}
		}
	}
	for _, list := range load().procs {
		for _, x := range list {
			if len(x.Defaults) > len(x.Args) || x.ArgNames != nil && len(x.ArgNames) != len(x.Args) {
				t.Errorf("function %s: %d arguments, names %q, defaults %q", x.Name, len(x.Args), x.ArgNames, x.Defaults)
			}
			if x.Variadic != 0 && len(x.Args) == 0 {
				t.Errorf("function %s is variadic without arguments", x.Name)
			}
		}
	}
	for _, c := range load().casts {
		if c.Method == 'f' && ProcOf(c.Func) == nil {
			t.Errorf("cast %d to %d by %d", c.Source, c.Target, c.Func)
		}
	}
}
