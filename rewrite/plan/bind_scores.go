package plan

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// Scores are what is computed of a model's scores of arrays, for those who write them into an expression.
type Scores = funcs.Scores

// ScoreArray is one of the arrays.
type ScoreArray = funcs.ScoreArray

// ScoreLayer is one of the layers of a network.
type ScoreLayer = funcs.ScoreLayer

// What is computed of scores.
const (
	ScoreClass    = funcs.ScoreClass
	ScoreShare    = funcs.ScoreShare
	ScoreBin      = funcs.ScoreBin
	ScoreValue    = funcs.ScoreValue
	ScoreCount    = funcs.ScoreCount
	ScoreLoss     = funcs.ScoreLoss
	ScoreSure     = funcs.ScoreSure
	ScoreOdds     = funcs.ScoreOdds
	ScoreBins     = funcs.ScoreBins
	MostScoreBins = funcs.MostScoreBins
	MostScoreLoss = funcs.MostScoreLoss
	MostOdds      = funcs.MostOdds
	OddsBins      = funcs.OddsBins
	MostScores    = funcs.MostScores
)

// ScoresCall is the function's name; the binder knows it in calls that OwnScores marked.
const ScoresCall = funcs.ScoresName

// NoScores refuses the function in an analyst's arguments, of which OwnScores could not tell it from the prediction's own.
func NoScores(args []pgsyntax.Expr) (err error) {
	for _, a := range args {
		pgsyntax.WalkExpr(a, &pgsyntax.Visitor{Expr: func(x pgsyntax.Expr) bool {
			if f, ok := x.(*pgsyntax.FuncCall); ok && f.Name == ScoresCall && err == nil {
				err = undefinedFunction(f.Name, "", f.Pos, anyFunction)
			}
			return true
		}})
	}
	return err
}

// notPredicted is the error of a prediction whose expression has one: an argument's own, or that the arguments have other types than the features. Positions in the expression are none of the statement's.
func (e *exprs) notPredicted(x *pgsyntax.FuncCall, err error) error {
	if e.around.modelled > 0 { // it is within another one's expression, which tells it
		return err
	}
	var types []string
	for _, a := range x.Args[1:] {
		v, err := e.expr(a)
		if err != nil {
			return err
		}
		types = append(types, v.Type().String())
	}
	var is *sqlerr.Error
	switch errors.As(err, &is); {
	case is == nil:
		return err
	case !slices.Contains([]string{sqlerr.UndefinedFunction.ID, sqlerr.DatatypeMismatch.ID, sqlerr.CannotCoerce.ID}, is.ID):
		return is.At(int(x.Pos))
	}
	return sqlerr.New(sqlerr.UndefinedFunction, "%s cannot take arguments of the types %s", x.Name, strings.Join(types, ", ")).At(int(x.Pos)).
		WithHint("The features are, in this order: %s.", e.opts.Models.Takes(x)).WithCause(err)
}

// OwnScores marks the calls in a text that stands for a prediction: an analyst's are unknown.
func OwnScores(s *pgsyntax.Select) {
	pgsyntax.Walk(s, &pgsyntax.Visitor{Expr: func(x pgsyntax.Expr) bool {
		if f, ok := x.(*pgsyntax.FuncCall); ok && f.Name == ScoresCall {
			f.Special = true
		}
		return true
	}})
}

// scores binds dp_scores('what', number, ..., class, array, ...).
func (e *exprs) scores(x *pgsyntax.FuncCall) (Scalar, error) {
	args, names, variadic, err := e.callArgs(x)
	if err != nil {
		return nil, err
	}
	text, ok := "", false
	if len(args) > 0 {
		if c, is := args[0].(*Const); is {
			text, ok = c.Value.(string)
		}
	}
	if !ok || len(names) > 0 || variadic {
		return nil, undefinedFunction(x.Name, "", x.Pos, anyFunction)
	}
	args[0] = &Const{Value: fmt.Sprintf("%x", sha256.Sum256([]byte(text))), T: sqltype.Text} // it tells one model's scores from another's, in what a release is stored by; the row has the text
	for i, a := range args[1:] {
		to := a.Type()
		switch {
		case to.IsArray() || to.OID == sqltype.OIDBytea:
			continue
		case to.OID != sqltype.OIDInt4: // a class is a CASE of whole numbers
			to = sqltype.Float8
		}
		if args[i+1], err = e.implicit(a, to, x.Pos); err != nil {
			return nil, err
		}
	}
	fn, err := funcs.NewScores(text, oidsOf(args)[1:])
	if err != nil {
		return nil, at(err, x.Pos)
	}
	return &Call{Fn: fn, Args: args, T: e.of(fn.Result), Pos: int(x.Pos)}, nil
}
