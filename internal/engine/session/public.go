package session

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// Public reads no private table: its answer is exact and free.
type Public struct {
	*Statement
	Warnings []string // of limits that no value meets
}

// Run implements Kind.
func (p *Public) Run(ctx context.Context, args []sqltype.Value) (*answer.Answer, error) {
	rows, err := p.Session.runPublic(ctx, p.Query, args)
	if err != nil {
		return nil, err
	}
	ans := &answer.Answer{Rows: rows, Tag: "SELECT", Warnings: p.Warnings}
	if p.Session.Now.Notices != "off" {
		ans.Notice = p.SyntheticNote()
	}
	return ans, nil
}

// SyntheticNote says that the statement's rows are synthetic; "" where they are not.
func (p *Public) SyntheticNote() string {
	for _, sc := range server.ScansOf(p.Query.Root) {
		if t := sc.Table; p.Session.Catalog.IsSynthetic(t) {
			return "the rows of " + t.Schema + "." + t.Name + " are synthetic: the answer is free and has no interval"
		}
	}
	return ""
}

// runPublic answers a statement that touches no private table: from memory (no table, or dpsql's own), or on the backend.
func (s *Session) runPublic(ctx context.Context, q *plan.Query, args []sqltype.Value) ([][]sqltype.Value, error) {
	scans := server.ScansOf(q.Root)
	own := 0
	for _, sc := range scans {
		if s.Catalog.Own(sc.Table) {
			own++
		}
	}
	switch {
	case own > 0 && own < len(scans):
		return nil, server.OwnTableJoined(scans[0].Pos)
	case own == len(scans) && (own > 0 || eval.Check(q.Root, HasNoLeaf, q) == nil): // without a table the backend is asked for what the proxy cannot compute
		if s.readsSynthetic(scans) {
			done, err := s.syntheticTurn(ctx)
			if err != nil {
				return nil, s.Uncharged(ctx, err)
			}
			defer done()
		}
		rows := map[*plan.Table][][]sqltype.Value{}
		for _, sc := range scans {
			if rows[sc.Table] == nil {
				var err error
				if rows[sc.Table], err = s.OwnRows(ctx, sc.Table); err != nil {
					return nil, err
				}
			}
		}
		leaf := func(n plan.Rel) (*eval.Relation, bool) {
			sc, ok := n.(*plan.Scan)
			if !ok {
				return nil, false
			}
			return &eval.Relation{Cols: sc.Columns, Rows: rows[sc.Table]}, true
		}
		rel, err := eval.Run(ctx, q.Root, leaf, q, args)
		if err != nil {
			return nil, err
		}
		return finish.Outputs(q, rel)
	}
	st, err := sqlgen.PublicQuery(q, s.Engine.Dialect)
	if err != nil {
		return nil, err
	}
	done, err := s.Turn(ctx)
	if err != nil {
		return nil, s.Uncharged(ctx, err)
	}
	defer done()
	rows, err := s.Engine.ReadPublic(ctx, s.World, st, args, int(s.World.Policy.Limits.PublicRows))
	if err != nil {
		return nil, s.PublicFailed(ctx, err)
	}
	return rows, nil
}

// HasNoLeaf is the leaf function of plans without given rows.
func HasNoLeaf(plan.Rel) bool { return false }
