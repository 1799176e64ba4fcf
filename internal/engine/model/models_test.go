package model_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// TestModelsSealed: with cache.key nothing of a model's text is in its file, and it is read again by the same key alone; by another it is listed by its name, says nothing, and can be dropped.
func TestModelsSealed(t *testing.T) {
	ctx, ledger := context.Background(), filepath.Join(t.TempDir(), "ledger")
	keys := []string{strings.Repeat("1f", 32), strings.Repeat("2e", 32), ""}
	open := func(key string) (*server.Engine, *session.Session) {
		t.Helper()
		var edits []string
		if key != "" {
			t.Setenv("MODELS_KEY", key)
			edits = []string{"unit: patients.patient_id\n", "unit: patients.patient_id\ncache: {key: env:MODELS_KEY}\n"}
		}
		e, err := server.Open(ctx, server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB, edits...), Backend: enginetest.Tame.Open(t, funcs.DuckDB), LedgerPath: ledger})
		if err != nil {
			t.Fatal(err)
		}
		return e, enginetest.NewSession(e, t, "ann")
	}
	e, s := open(keys[0])
	const train = "TRAIN DP MODEL kept USING linear_regression TARGET medications WITH (epsilon = 0.5, delta = 1e-9) AS SELECT days, cost, medications FROM encounters"
	if _, err := enginetest.Try(s, train); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(ledger + server.ModelsSuffix)
	if err != nil || bytes.Contains(file, []byte("medications")) || bytes.Contains(file, []byte("linear_regression")) || !bytes.Contains(file, []byte("kept")) {
		t.Errorf("the file has the model's text: %v", err)
	}
	for i, key := range keys {
		e, s := open(key)
		rows, err := enginetest.Try(s, "SHOW DP MODELS")
		if err != nil || len(rows) != 1 || rows[0][0] != "kept" || (rows[0][1] == "linear_regression") != (i == 0) {
			t.Errorf("key %d: %v, %v", i, rows, err)
		}
		for _, sql := range []string{"DESCRIBE DP MODEL kept", "SELECT dp_predict('kept', 3, 100)"} {
			if _, err := enginetest.Try(s, sql); (err == nil) != (i == 0) || err != nil && sqlerr.ID(err) != sqlerr.ResourceFailure.ID {
				t.Errorf("key %d: %s: %v", i, sql, err)
			}
		}
		if i == 2 {
			if _, err := enginetest.Try(s, "DROP DP MODEL kept"); err != nil {
				t.Error(err)
			}
			if _, err := enginetest.Try(s, train); err != nil {
				t.Error(err)
			}
			if file, err := os.ReadFile(ledger + server.ModelsSuffix); err != nil || !bytes.Contains(file, []byte("medications")) {
				t.Errorf("without a key texts lie as they are: %v", err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestModelNames: of several models of a name the own one is meant, else the one that was granted; of several granted ones each is named by its owner. One that was not granted is like one that there is not, however it is named.
func TestModelNames(t *testing.T) {
	ann := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	bob, guest := enginetest.NewSession(ann.Engine, t, "bob"), enginetest.NewSession(ann.Engine, t, "guest")
	const train = "TRAIN DP MODEL risk USING linear_regression TARGET medications WITH (epsilon = 0.1, delta = 1e-9) AS SELECT "
	for s, columns := range map[*session.Session]string{ann: "days, medications FROM encounters", bob: "days, cost, medications FROM encounters", guest: "days, cost, kind_id, medications FROM encounters"} {
		if _, err := enginetest.Try(s, train+columns); err != nil {
			t.Fatal(err)
		}
	}
	does := func(s *session.Session, list ...string) {
		t.Helper()
		for _, sql := range list {
			if _, err := enginetest.Try(s, sql); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
	refused := func(s *session.Session, want string, list ...string) (first string) {
		t.Helper()
		for _, sql := range list {
			_, err := enginetest.Try(s, sql)
			var e *sqlerr.Error
			if !errors.As(err, &e) || !strings.Contains(e.Message+" "+e.Hint, want) {
				t.Errorf("%s: %v", sql, err)
			} else {
				first = e.Message + " " + e.Hint
			}
		}
		return first
	}
	none := refused(guest, `does not exist`, "SELECT dp_predict('bob.none', 1, 2)", "DESCRIBE DP MODEL ann.none", "SELECT dp_predict('nobody.risk', 1)")
	secret := refused(guest, `does not exist`, "DESCRIBE DP MODEL ann.risk", "EXPORT DP MODEL bob.risk AS json", "DROP DP MODEL ann.risk", "EVALUATE DP MODEL ann.risk ON SELECT days, medications FROM encounters", "SELECT dp_predict('ann.risk', 1)")
	if strings.Replace(none, "nobody.risk", "ann.risk", 1) != secret {
		t.Errorf("%q, and of a model that was not granted %q", none, secret)
	}
	does(ann, "GRANT DP MODEL risk TO guest")
	refused(ann, "is your own", "GRANT DP MODEL risk TO ann", "REVOKE DP MODEL ann.risk FROM ann")
	refused(ann, "Name one analyst, and nothing after that: GRANT DP MODEL risk TO analyst.", "GRANT DP MODEL risk TO guest, bob", "GRANT DP MODEL risk TO guest WITH GRANT OPTION", "GRANT DP MODEL risk guest")
	does(bob, "GRANT DP MODEL bob.risk TO guest")
	does(guest, "SELECT dp_predict('risk', 1, 2, 3)", "SELECT dp_predict('guest.risk', 1, 2, 3), dp_predict('ann.risk', 1), dp_predict('bob.risk', 1, 2)", "DESCRIBE DP MODEL ann.risk", `EXPORT DP MODEL "bob".risk AS json`,
		"EVALUATE DP MODEL bob.risk WITH (epsilon = 0.01) ON SELECT days, cost, medications FROM encounters", "DROP DP MODEL guest.risk")
	refused(guest, "ann.risk or bob.risk", "SELECT dp_predict('risk', 1)", "DESCRIBE DP MODEL risk", "DROP DP MODEL IF EXISTS risk")
	refused(guest, "must be owner", "DROP DP MODEL ann.risk", "ALTER DP MODEL bob.risk RENAME TO mine", "GRANT DP MODEL ann.risk TO bob")
	does(guest, "SELECT dp_predict('ann.risk', 1), dp_predict('bob.risk', 1, 2)")
	rows, err := enginetest.Try(guest, "SHOW DP MODELS")
	if err != nil || len(rows) != 2 || rows[0][4] != "ann" || rows[1][4] != "bob" {
		t.Errorf("%v, %v", rows, err)
	}
	if rows, err = enginetest.Try(guest, "DESCRIBE DP MODEL bob.risk"); err != nil || property(rows, "owner") != "bob" {
		t.Errorf("%v, %v", rows, err)
	}
	does(ann, "REVOKE DP MODEL risk FROM guest")
	does(guest, "SELECT dp_predict('risk', 1, 2)")
	refused(guest, "does not exist", "SELECT dp_predict('ann.risk', 1)")
}

// TestPreparedWithoutModel: a statement that was prepared with a model is refused each time that it is run after the model was revoked, or dropped, and answers again once there is one.
func TestPreparedWithoutModel(t *testing.T) {
	ann := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	bob := enginetest.NewSession(ann.Engine, t, "bob")
	const train = "TRAIN DP MODEL risk USING linear_regression TARGET medications WITH (epsilon = 0.1, delta = 1e-9) AS SELECT days, medications FROM encounters"
	enginetest.MustTry(t, ann, train)
	enginetest.MustTry(t, ann, "GRANT DP MODEL risk TO bob")
	p, err := enginetest.Prepare(bob, "SELECT dp_predict('ann.risk', 3)")
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct{ away, back []string }{
		{[]string{"REVOKE DP MODEL risk FROM bob"}, []string{"GRANT DP MODEL risk TO bob"}},
		{[]string{"DROP DP MODEL risk"}, []string{train, "GRANT DP MODEL risk TO bob"}},
	} {
		for _, sql := range way.away {
			enginetest.MustTry(t, ann, sql)
		}
		for turn := range 3 {
			if a, err := p.Run(t.Context(), nil); err == nil {
				t.Errorf("%s, run %d: %v", way.away, turn, a.Rows)
			}
		}
		for _, sql := range way.back {
			enginetest.MustTry(t, ann, sql)
		}
		if _, err := p.Run(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", way.back, err)
		}
	}
}

// TestModelRights: who may use a model may read, by the policy in force, all that its query read: its target, its features, its conditions, its join. A reload that takes one of them away holds for the trainer, for whom the model was granted, and for what was prepared before.
// A model that was stored before what it read was kept is nobody's.
func TestModelRights(t *testing.T) {
	ann := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	bob, clerk := enginetest.NewSession(ann.Engine, t, "bob"), enginetest.NewSession(ann.Engine, t, "clerk")
	const all = "patients, encounters, prescriptions, labs, visits, stays, cities, kinds, rates]"
	for _, sql := range []string{
		"TRAIN DP MODEL risk USING linear_regression TARGET medications WITH (epsilon = 0.1, delta = 1e-9) AS SELECT e.days, e.medications FROM (SELECT * FROM encounters) e JOIN patients p ON p.patient_id = e.patient_id WHERE p.gender = 'F'",
		"GRANT DP MODEL risk TO bob", "GRANT DP MODEL risk TO clerk",
	} {
		if _, err := enginetest.Try(ann, sql); err != nil {
			t.Fatal(err)
		}
	}
	uses := []string{"SELECT dp_predict('ann.risk', 3)", "DESCRIBE DP MODEL ann.risk", "EXPORT DP MODEL ann.risk AS json", "EVALUATE DP MODEL ann.risk WITH (epsilon = 0.01) ON SELECT days, 3 AS medications FROM encounters"}
	prepared := map[*session.Session]*engine.Prepared{}
	for _, s := range []*session.Session{ann, bob} {
		sts, err := pgsyntax.Parse(uses[0])
		if err != nil {
			t.Fatal(err)
		}
		if prepared[s], err = engine.Prepare(t.Context(), s, sts[0], nil); err != nil {
			t.Fatal(err)
		}
	}
	usable := func(when string, s *session.Session, want bool) {
		t.Helper()
		list := uses
		if want {
			list = uses[:3]
		}
		for _, sql := range list {
			_, err := enginetest.Try(s, sql)
			if (err == nil) != want || err != nil && (sqlerr.ID(err) != sqlerr.Privilege.ID || strings.Contains(err.Error(), "medications")) {
				t.Errorf("%s, %s: %s: %v", when, s.User, sql, err)
			}
		}
		if p := prepared[s]; p != nil {
			if _, err := p.Run(t.Context(), nil); (err == nil) != want {
				t.Errorf("%s, %s, prepared: %v", when, s.User, err)
			}
		}
	}
	reload := func(may string) {
		t.Helper()
		if err := ann.Engine.Reload(t.Context(), enginetest.ClinicPolicyFor(t, funcs.DuckDB, all, may)); err != nil {
			t.Fatal(err)
		}
	}
	usable("at first", ann, true)
	usable("at first", bob, true)
	usable("at first", clerk, false) // never had the right to its target
	for s, target := range map[*session.Session]any{ann: "medications", bob: "medications", clerk: nil} {
		if rows, err := enginetest.Try(s, "SHOW DP MODELS"); err != nil || len(rows) != 1 || rows[0][3] != target {
			t.Errorf("%s is shown %v, %v", s.User, rows, err)
		}
	}
	for lost, may := range map[string]string{
		"the target":      "patients, encounters.days, encounters.patient_id, cities]",
		"a feature":       "patients, encounters.medications, encounters.patient_id, cities]",
		"the condition":   "patients.patient_id, encounters, cities]",
		"the join":        "patients, encounters.days, encounters.medications, cities]",
		"a whole table":   "encounters, cities]",
		"everything else": "patients.gender, patients.patient_id, encounters.days, encounters.medications, encounters.patient_id]",
	} {
		reload(may)
		usable(lost, ann, lost == "everything else")
		usable(lost, bob, lost == "everything else")
		if _, err := enginetest.Try(ann, "GRANT DP MODEL risk TO guest"); err != nil { // its name is hers
			t.Error(err)
		}
	}
	reload(all)
	m, err := ann.Engine.Models.Get(t.Context(), mlext.Name{Text: "risk"}, "ann")
	if err != nil {
		t.Fatal(err)
	}
	m.Model.Sources = nil
	if err := ann.Engine.Models.Keep(t.Context(), "ann", m.Model, true); err != nil {
		t.Fatal(err)
	}
	usable("of an older form", ann, false)
	if _, err := enginetest.Try(ann, "DROP DP MODEL risk"); err != nil {
		t.Error(err)
	}
}
