package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/engine/answer"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// innerQuery prepares a query that a statement about models asks, and tells of what kind that is.
type innerQuery func(ctx context.Context, st *statement, q *pgsyntax.Select) (whole, of kind, err error)

// prepareModel checks a statement about DP models.
func prepareModel(ctx context.Context, s *Session, n pgsyntax.Node, explain *pgsyntax.Explain, ask innerQuery) (kind, error) {
	switch n := n.(type) {
	case *pgsyntax.Train:
		t, err := prepareTrain(ctx, s, n, explain != nil)
		if err != nil {
			return nil, err
		}
		if explain != nil {
			t.together, t.verbose = isOn(explain, "together"), isOn(explain, "verbose")
		}
		return t, nil
	case *pgsyntax.Evaluate:
		return prepareEvaluate(ctx, s, n, explain, ask)
	case *pgsyntax.Models:
		if _, ok := exports[strings.ToLower(n.To.Text)]; n.Verb == "EXPORT" && !ok {
			return nil, sqlerr.New(sqlerr.InvalidParam, "there is no export as %q", n.To.Text).At(int(n.To.Pos)).WithHint("EXPORT DP MODEL %s AS json, onnx, or onnx_base64.", n.Name.Text)
		}
		return &models{s, n}, nil
	}
	return nil, sqlerr.New(sqlerr.Unsupported, "this statement is not supported")
}

// models is a statement about stored models.
type models struct {
	session *Session
	node    *pgsyntax.Models
}

// Columns implements kind.
func (m *models) Columns() []answer.Column {
	switch m.node.Verb {
	case "SHOW":
		return []answer.Column{{Name: "model", Type: sqltype.Text}, {Name: "kind", Type: sqltype.Text}, {Name: "method", Type: sqltype.Text}, {Name: "target", Type: sqltype.Text}, {Name: "owner", Type: sqltype.Text}}
	case "DESCRIBE":
		return facts
	case "EXPORT":
		form := exports[strings.ToLower(m.node.To.Text)]
		return []answer.Column{{Name: "model", Type: form.result}}
	}
	return nil
}

// Run implements kind.
func (m *models) Run(ctx context.Context, _ []sqltype.Value) (*answer.Answer, error) {
	s, n, store := m.session, m.node, m.session.engine.models
	if err := s.refresh(); err != nil {
		return nil, err
	}
	name := mlext.Name{Owner: n.Owner.Text, Text: n.Name.Text}
	ans, err := &answer.Answer{Tag: n.Verb + " DP MODEL"}, error(nil)
	switch n.Verb {
	case "SHOW":
		ans.Tag = "SHOW"
		var list []mlext.Stored
		if list, err = store.List(ctx, s.analyst.Name); err == nil {
			for _, x := range list {
				ans.Rows = append(ans.Rows, []sqltype.Value{x.Name, x.Kind, x.Method, x.Target, x.Owner})
			}
		}
	case "DESCRIBE":
		var x *mlext.Stored
		if x, err = usableModel(ctx, s, name); err == nil {
			for i, f := range x.Model.Describe() {
				if ans.Rows = append(ans.Rows, []sqltype.Value{f.Name, f.Value}); i == 0 && x.Owner != s.analyst.Name {
					ans.Rows = append(ans.Rows, []sqltype.Value{"owner", x.Owner})
				}
			}
		}
	case "EXPORT":
		var x *mlext.Stored
		if x, err = usableModel(ctx, s, name); err == nil {
			var v sqltype.Value
			v, err = exports[strings.ToLower(n.To.Text)].value(x.Model)
			ans.Rows = [][]sqltype.Value{{v}}
		}
	case "DROP":
		if err = store.Drop(ctx, name, s.analyst.Name); n.IfExists && sqlerr.ID(err) == sqlerr.UndefinedObject.ID {
			err = nil
		}
	case "RENAME":
		ans.Tag = "ALTER DP MODEL"
		err = store.Rename(ctx, name, n.To.Text, s.analyst.Name)
	case "GRANT", "REVOKE":
		err = store.Grant(ctx, name, s.analyst.Name, n.To.Text, n.Verb == "REVOKE")
		if err == nil && n.Verb == "GRANT" && s.now.notices != "off" { // who else there is, nobody is told
			ans.Notice = fmt.Sprintf("%s may use the model, also as %s.%s, if the policy has an analyst of that name", n.To.Text, s.analyst.Name, n.Name.Text)
		}
	}
	if err != nil {
		return nil, s.modelsFailed(ctx, err)
	}
	return ans, nil
}
