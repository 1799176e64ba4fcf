package engine_test

import (
	"context"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// TestEnums: an enum is text where text is asked for, and a parameter's type, inferred or as a driver gives it back.
func TestEnums(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.NewSession(enginetest.EngineOn(t, enginetest.BadPolicyFor(t, d), enginetest.OpenBad(t, d, enginetest.NoneBad)), t, "ann")
		enginetest.MustTry(t, s, "select e::text, e || '!', lower(e::varchar), count(*) from facts where e::text like 'a%' and e::text <> 'nothing' group by 1, 2, 3")
		if _, err := enginetest.Try(s, "select count(*) from facts where e = 'B'"); err == nil || enginetest.Refusal(err).Hint != "Write 'b' for 'B'." {
			t.Errorf("a label in another case: %v", err)
		}
		const sql = "select count(*) from facts where e = $1"
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		enum := p.Params()[0]
		if !enum.IsEnum() {
			t.Fatalf("the parameter is %+v", enum)
		}
		st, err := pgsyntax.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		if p, err = enginetest.Prepare(s, sql, enum.OID); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Run(context.Background(), []sqltype.Value{"a"}); err != nil {
			t.Error(err)
		}
		for _, f := range []int16{sqltype.TextFormat, sqltype.BinaryFormat} {
			if _, err := sqltype.Decode([]byte("nothing"), p.Params()[0], f); sqlerr.ID(err) != sqlerr.InvalidText.ID {
				t.Errorf("a text that is no label: %v", err)
			}
		}
		if _, err := engine.Prepare(context.Background(), s, st[0], []sqltype.OID{99999}); sqlerr.ID(err) != sqlerr.UndefinedFunction.ID && sqlerr.ID(err) != sqlerr.Unsupported.ID {
			t.Errorf("an unknown type's parameter: %v", err)
		}
	}
}
