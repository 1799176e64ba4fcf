package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// innerQuery prepares a query that a statement about models asks, and tells of what kind that is.
type innerQuery func(ctx context.Context, st *statement, q *pgsyntax.Select) (whole, of kind, err error)

// prepareModel checks a statement about DP models.
func (s *Session) prepareModel(ctx context.Context, n pgsyntax.Node, explain *pgsyntax.Explain, ask innerQuery) (kind, error) {
	switch n := n.(type) {
	case *pgsyntax.Train:
		t, err := s.prepareTrain(ctx, n, explain != nil)
		if err != nil {
			return nil, err
		}
		if explain != nil {
			t.together, t.verbose = isOn(explain, "together"), isOn(explain, "verbose")
		}
		return t, nil
	case *pgsyntax.Evaluate:
		return s.prepareEvaluate(ctx, n, explain, ask)
	case *pgsyntax.Models:
		if _, ok := exports[strings.ToLower(n.To.Text)]; n.Verb == "EXPORT" && !ok {
			return nil, sqlerr.New(sqlerr.InvalidParam, "there is no export as %q", n.To.Text).At(int(n.To.Pos)).WithHint("EXPORT DP MODEL %s AS json, onnx, or onnx_base64.", n.Name.Text)
		}
		return &models{s, n}, nil
	}
	return nil, sqlerr.New(sqlerr.Unsupported, "this statement is not supported")
}

// predictions give dp_predict and dp_predict_proba their meaning: an expression over the arguments, of a model that the analyst may use.
type predictions struct {
	ctx     context.Context
	session *Session
	made    *int // bytes of what the statement's predictions stand for
}

// unpredicted refuses predictions where a model's rows are read.
type unpredicted struct{}

// Predict implements plan.Models.
func (unpredicted) Predict(x *pgsyntax.FuncCall) (pgsyntax.Expr, error) {
	if x.Name != "dp_predict" && x.Name != "dp_predict_proba" {
		return nil, nil
	}
	return nil, sqlerr.New(sqlerr.Unsupported, "%s in the query of TRAIN or EVALUATE is not supported", x.Name).At(int(x.Pos)).WithHint("Name the features that the other model has.")
}

// mostPredicted is how much text the predictions of one statement may stand for.
const mostPredicted = 1 << 20

// usable finds a model that the session's analyst may use now.
//
// Proof: claim: who gets a model's coefficients, or anything that is computed of them, is its owner or was granted it, and may read, by the policy in force, every column that its query read, the target and those of its conditions included. (1) The store knows who was granted it. (2) Its sources are all that the query read
// (plan.TablesRead), by the names that the policy of that time gave them. (3) Each is looked up in the analyst's own catalog, whatever search_path says. (4) One that was stored without sources is nobody's.
func (s *Session) usable(ctx context.Context, name mlext.Name) (*mlext.Stored, error) {
	m, err := s.engine.models.Get(ctx, name, s.user) // (1)
	if err != nil {
		return nil, s.modelsFailed(ctx, err)
	}
	if len(m.Model.Sources) == 0 { // (4)
		return nil, sqlerr.New(sqlerr.Privilege, "permission denied for model %s: it was stored by an older dpsql, which did not keep what it was trained on", name).WithHint("Train it anew: CREATE OR REPLACE DP MODEL. SHOW DP MODELS lists whose it is.")
	}
	for _, src := range m.Model.Sources { // (2)
		t, ok := s.catalog.Table(src.Schema, src.Table) // (3)
		for _, c := range src.Columns {
			ok = ok && slices.ContainsFunc(t.Columns, func(col plan.TableColumn) bool { return col.Name == c && col.Visible })
		}
		if !ok {
			return nil, sqlerr.New(sqlerr.Privilege, "permission denied for model %s: it was trained on columns that you may not read", name).WithHint("Ask the owner of the data for the right to read what it was trained on.")
		}
	}
	return m, nil
}

// Predict implements plan.Models.
func (p predictions) Predict(x *pgsyntax.FuncCall) (pgsyntax.Expr, error) {
	if x.Name != "dp_predict" && x.Name != "dp_predict_proba" {
		return nil, nil
	}
	name, ok := modelName(x)
	if !ok {
		return nil, sqlerr.New(sqlerr.UndefinedFunction, "%s takes the name of a model first", x.Name).At(int(x.Pos)).WithHint("Write it as a text: %s('model', feature, ...).", x.Name)
	}
	m, err := p.session.usable(p.ctx, mlext.Name{Text: name})
	if err != nil {
		var e *sqlerr.Error
		if errors.As(err, &e) {
			err = e.At(int(x.Pos))
		}
		return nil, err
	}
	args, length, repeated := make([]string, len(x.Args)-1), 0, 0
	for i, a := range x.Args[1:] {
		_, named := a.(*pgsyntax.NamedArg)
		if _, variadic := a.(*pgsyntax.Variadic); named || variadic {
			return nil, sqlerr.New(sqlerr.UndefinedFunction, "%s takes its features in their order, without names or VARIADIC", x.Name).At(int(x.Pos))
		}
		args[i] = "(" + pgsyntax.PrintExpr(a) + ")"
		length += len(args[i])
		if i < len(m.Model.Features) && m.Model.Features[i].Length == 0 {
			repeated += len(args[i])
		}
	}
	if err := plan.NoScores(x.Args); err != nil {
		return nil, err
	}
	if *p.made+length > mostPredicted {
		return nil, sqlerr.New(sqlerr.TooComplex, "the arguments of %s are too long", x.Name).At(int(x.Pos)).WithHint("%s", inDerived)
	}
	if n := 2 * repeated * len(m.Model.Scores); len(m.Model.Scores) > 1 && n > mostPredicted { // before it is written
		return nil, tooLong(m.Model, n, length).At(int(x.Pos))
	}
	text, err := m.Model.Predict(args, x.Name == "dp_predict_proba")
	if err != nil {
		return nil, err
	}
	if len(text) > mostPredicted {
		return nil, tooLong(m.Model, len(text), length).At(int(x.Pos))
	}
	if *p.made += len(text); *p.made > mostPredicted {
		return nil, sqlerr.New(sqlerr.TooComplex, "the statement's predictions are too long together").At(int(x.Pos)).WithHint("Predict in a derived table, and use its column.")
	}
	if err := p.ctx.Err(); err != nil {
		return nil, p.session.uncharged(p.ctx, err)
	}
	sts, err := pgsyntax.Parse("SELECT " + text)
	if err != nil {
		return nil, sqlerr.New(sqlerr.TooComplex, "the prediction cannot be read: it is too long, or an argument is no expression of its own").At(int(x.Pos)).WithHint("%s", inDerived).WithCause(err)
	}
	sel, ok := sts[0].Node.(*pgsyntax.Select)
	if !ok || len(sel.Targets) != 1 {
		return nil, sqlerr.New(sqlerr.Internal, "a prediction is no expression")
	}
	plan.OwnScores(sel)
	return sel.Targets[0].Expr, nil
}

// inDerived is what to do with long arguments.
const inDerived = "Compute the features in a derived table, and name its columns: SELECT avg(dp_predict('m', a, b)) FROM (SELECT ... AS a, ... AS b FROM t) AS q."

// tooLong refuses a prediction that is too long by itself: by its arguments, or whatever they are.
func tooLong(m *mlext.Model, text, args int) *sqlerr.Error {
	e := sqlerr.New(sqlerr.TooComplex, "a prediction of model %s is %d kB of SQL here, the most is %d", m.Name, text>>10, mostPredicted>>10)
	if 4*args*len(m.Scores) > text { // each stands twice in each score
		return e.WithHint("%s", inDerived)
	}
	return e.WithHint("It has too many coefficients: EXPORT DP MODEL %s AS onnx predicts elsewhere; or train on fewer features, or on columns with fewer values.", m.Name)
}

func modelName(x *pgsyntax.FuncCall) (string, bool) {
	if len(x.Args) == 0 || x.Distinct || x.Star || x.Filter != nil || x.Over != nil || len(x.OrderBy) > 0 {
		return "", false
	}
	l, ok := x.Args[0].(*pgsyntax.Literal)
	if !ok || l.Kind != pgsyntax.StringLit {
		return "", false
	}
	return l.Text, true
}

// models is a statement about stored models.
type models struct {
	session *Session
	node    *pgsyntax.Models
}

// Columns implements kind.
func (m *models) Columns() []Column {
	switch m.node.Verb {
	case "SHOW":
		return []Column{{Name: "model", Type: sqltype.Text}, {Name: "kind", Type: sqltype.Text}, {Name: "method", Type: sqltype.Text}, {Name: "target", Type: sqltype.Text}, {Name: "owner", Type: sqltype.Text}}
	case "DESCRIBE":
		return facts
	case "EXPORT":
		form := exports[strings.ToLower(m.node.To.Text)]
		return []Column{{Name: "model", Type: form.result}}
	}
	return nil
}

// Run implements kind.
func (m *models) Run(ctx context.Context, _ []sqltype.Value) (*Answer, error) {
	s, n, store := m.session, m.node, m.session.engine.models
	if err := s.refresh(); err != nil {
		return nil, err
	}
	name := mlext.Name{Owner: n.Owner.Text, Text: n.Name.Text}
	ans, err := &Answer{Tag: n.Verb + " DP MODEL"}, error(nil)
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
		if x, err = s.usable(ctx, name); err == nil {
			for i, f := range x.Model.Describe() {
				if ans.Rows = append(ans.Rows, []sqltype.Value{f.Name, f.Value}); i == 0 && x.Owner != s.analyst.Name {
					ans.Rows = append(ans.Rows, []sqltype.Value{"owner", x.Owner})
				}
			}
		}
	case "EXPORT":
		var x *mlext.Stored
		if x, err = s.usable(ctx, name); err == nil {
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

// modelsFailed passes what the analyst can do something about, and hides the store's own failures.
func (s *Session) modelsFailed(ctx context.Context, err error) error {
	if sqlerr.ID(err) != "" {
		return err
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return s.uncharged(ctx, err)
	}
	s.engine.log.Error("the models' store failed", append([]any{"analyst", s.analyst.Name, "error", err.Error()}, logged(err)...)...)
	return sqlerr.New(sqlerr.ResourceFailure, "the models cannot be read now").WithHint("Ask the owner of the data, whose log has the cause.").WithCause(err)
}
