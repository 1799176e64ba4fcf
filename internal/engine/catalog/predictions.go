package catalog

import (
	"context"
	"errors"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Takes implements plan.Models.
func (Unpredicted) Takes(*pgsyntax.FuncCall) string { return "" }

// predictions give dp_predict and dp_predict_proba their meaning: an expression over the arguments, of a model that the analyst may use.
type predictions struct {
	ctx     context.Context
	session *session.Session
	made    *int // bytes of what the statement's predictions stand for
}

// Unpredicted refuses predictions where a model's rows are read.
type Unpredicted struct{}

// Predict implements plan.Models.
func (Unpredicted) Predict(x *pgsyntax.FuncCall) (pgsyntax.Expr, error) {
	if x.Name != "dp_predict" && x.Name != "dp_predict_proba" {
		return nil, nil
	}
	return nil, sqlerr.New(sqlerr.Unsupported, "%s in the query of TRAIN or EVALUATE is not supported", x.Name).At(int(x.Pos)).WithHint("Name the features that the other model has.")
}

// MostPredicted is how much text the predictions of one statement may stand for.
const MostPredicted = 1 << 20

// UsableModel finds a model that the session's analyst may use now.
//
// Proof: claim: who gets a model's coefficients, or anything that is computed of them, is its owner or was granted it, and may read, by the policy in force, every column that its query read, the target and those of its conditions included. (1) The store knows who was granted it. (2) Its sources are all that the query read
// (plan.TablesRead), by the names that the policy of that time gave them. (3) Each is looked up in the analyst's own catalog, whatever search_path says. (4) One that was stored without sources is nobody's. (5) To a frozen analyst none is given, as no stored answer is.
func UsableModel(ctx context.Context, s *session.Session, name mlext.Name) (*mlext.Stored, error) {
	if err := s.NotFrozen(ctx); err != nil { // (5)
		return nil, err
	}
	m, err := s.Engine.Models.Get(ctx, name, s.User) // (1) the store knows who was granted it
	if err != nil {
		return nil, s.ModelsFailed(ctx, err)
	}
	if len(m.Model.Sources) == 0 { // (4) a model without sources is nobody's
		return nil, sqlerr.New(sqlerr.Privilege, "permission denied for model %s: it was stored by an older dpsql, which did not keep what it was trained on", name).WithHint("Train it anew: CREATE OR REPLACE DP MODEL. SHOW DP MODELS lists whose it is.")
	}
	if !s.MayReadSources(m.Model.Sources) { // (2) every column that its query read; (3) in the analyst's own catalog, whatever search_path says
		return nil, sqlerr.New(sqlerr.Privilege, "permission denied for model %s: it was trained on columns that you may not read", name).WithHint("Ask the owner of the data for the right to read what it was trained on.")
	}
	return m, nil
}

// Takes implements plan.Models.
func (p predictions) Takes(x *pgsyntax.FuncCall) string {
	name, _ := modelName(x)
	m, err := UsableModel(p.ctx, p.session, mlext.Name{Text: name})
	if err != nil { // it was dropped meanwhile
		return "those of DESCRIBE DP MODEL"
	}
	var out []string
	for _, f := range m.Model.Features {
		out = append(out, f.Name+" "+f.Type)
	}
	return strings.Join(out, ", ")
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
	m, err := UsableModel(p.ctx, p.session, mlext.Name{Text: name})
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
			repeated += len(args[i]) * m.Model.Repeats(i)
		}
	}
	if err := plan.NoScores(x.Args); err != nil {
		return nil, err
	}
	if *p.made+length > MostPredicted {
		return nil, sqlerr.New(sqlerr.TooComplex, "the arguments of %s are too long", x.Name).At(int(x.Pos)).WithHint("%s", inDerived)
	}
	if repeated > MostPredicted && (len(m.Model.Scores) > 1 || len(m.Model.Layers) > 0) { // before it is written
		return nil, TooLong(m.Model, repeated, length).At(int(x.Pos))
	}
	text, err := m.Model.Predict(args, x.Name == "dp_predict_proba")
	if err != nil {
		return nil, err
	}
	if len(text) > MostPredicted {
		return nil, TooLong(m.Model, len(text), length).At(int(x.Pos))
	}
	if *p.made += len(text); *p.made > MostPredicted {
		return nil, sqlerr.New(sqlerr.TooComplex, "the statement's predictions are too long together").At(int(x.Pos)).WithHint("Predict in a derived table, and use its column.")
	}
	if err := p.ctx.Err(); err != nil {
		return nil, err
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

// TooLong refuses a prediction that is too long by itself: by its arguments, or whatever they are.
func TooLong(m *mlext.Model, text, args int) *sqlerr.Error {
	e := sqlerr.New(sqlerr.TooComplex, "a prediction of model %s is %d kB of SQL here, the most is %d", m.Name, text>>10, MostPredicted>>10)
	if 4*args*len(m.Scores) > text { // each stands twice in each score
		return e.WithHint("%s", inDerived)
	}
	return e.WithHint("It has too many coefficients: EXPORT DP MODEL %s AS onnx predicts elsewhere; or train on fewer features, or on columns with fewer values.", pgsyntax.QuoteIdent(m.Name))
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
