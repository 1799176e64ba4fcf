package prooftest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour/generate"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// firstText is the first of a canonical text's statements.
type firstText struct{ text, sql, rows string }

// nearby are releases of random statements, of their variants and of those that a choice more or less makes of them, by their canonical texts.
type nearby struct {
	t      testing.TB
	s      *session.Session
	of     map[string]*firstText
	merged int // printed otherwise, and one release
}

// totals are a stage's before noise, whatever its text is, and its print.
func (n *nearby) totals(a *sensitivity.Analysis) (sql, rows string, err error) {
	st, err := sqlgen.Private(a, n.s.Engine.Dialect, 7)
	if err != nil {
		return "", "", err
	}
	got, err := enginetest.Uncovered{Backend: n.s.Engine.Backend}.Query(context.Background(), st)
	if err != nil {
		return st.SQL, "", err
	}
	var lines []string
	for _, row := range got {
		parts := make([]string, len(row))
		for i, c := range st.Columns {
			parts[i] = fmt.Sprintf("%v %d: nothing", c.Role, c.Index)
			if row[i] != nil {
				parts[i] = fmt.Sprintf("%v %d: %s", c.Role, c.Index, sqltype.AppendKey(nil, row[i]))
			}
		}
		slices.Sort(parts)
		lines = append(lines, strings.Join(parts, ", "))
	}
	slices.Sort(lines)
	return st.SQL, strings.Join(lines, "\n"), nil
}

// add compares a statement's releases with those that were seen.
func (n *nearby) add(text string) {
	p, err := enginetest.Prepare(n.s, text)
	if err != nil {
		return
	}
	for _, st := range p.Staged().Stages {
		if len(st.Inputs) > 0 || st.An.NeedsOwnScan() {
			continue
		}
		canonical := reuse.Canonical(st.An)
		was := n.of[canonical]
		if was != nil {
			if out, err := sqlgen.Private(st.An, n.s.Engine.Dialect, 7); err != nil || out.SQL == was.sql {
				continue
			}
		}
		sql, rows, err := n.totals(st.An)
		switch {
		case err != nil && strings.Contains(err.Error(), "SQLSTATE"): // it takes too long
		case err != nil:
			n.t.Errorf("%s: %v", text, err)
		case was == nil:
			n.of[canonical] = &firstText{text, sql, rows}
		default:
			if n.merged++; rows != was.rows {
				n.t.Errorf("one release, but not the same totals:\n%s\n%s\n%s\n%s\n%s", was.text, text, canonical, was.rows, rows)
			}
		}
	}
}

// TestGeneratedNear: random statements, other texts of theirs and statements that one choice tells apart are one release only where their totals, before noise, are the same.
func TestGeneratedNear(t *testing.T) {
	n := &nearby{t: t, s: enginetest.ClinicSession(t, enginetest.Wild, funcs.Postgres, enginetest.Roomy...), of: map[string]*firstText{}}
	enginetest.Set(t, n.s, "dpsql.max_groups", "1000")
	made := 60
	if v, err := strconv.Atoi(os.Getenv("GENERATE_STATEMENTS")); err == nil {
		made = v
	}
	seed := uint64(7)
	if v, err := strconv.ParseUint(os.Getenv("GENERATE_SEED"), 10, 64); err == nil {
		seed = v
	}
	for i := range uint64(made) {
		rng := rand.New(rand.NewPCG(seed, i))
		tape := generate.Record(rng.IntN)
		s := generate.New(tape.Draw, statementTables())
		n.add(s.Text())
		for _, v := range generate.Variants {
			n.add(s.Variant(v))
		}
		for range 6 {
			choices := slices.Clone(tape.Choices)
			choices[rng.IntN(len(choices))] = rng.IntN(5)
			n.add(generate.New((&generate.Tape{Choices: choices}).Draw, statementTables()).Text())
		}
	}
	if t.Logf("%d releases, %d printed otherwise", len(n.of), n.merged); n.merged < made/20 || len(n.of) < made/2 {
		t.Errorf("%d statements made %d releases, of which %d are printed otherwise", made, len(n.of), n.merged)
	}
}
