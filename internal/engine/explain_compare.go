package engine

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// pathLine says by which foreign keys the statement's private tables reach their person; "" where all have the person's column.
func pathLine(a *sensitivity.Analysis) string {
	var ways []string
	seen := map[*plan.Table]bool{}
	for _, s := range scansOf(a.Agg.Input) {
		for t := s.Table; t.Path != nil && t.UnitCol < 0 && !seen[t]; t = t.Path.Parent {
			seen[t] = true
			columns := make([]string, len(t.Path.Columns))
			for i, c := range t.Path.Columns {
				if columns[i] = t.Columns[c].Name; !t.Columns[c].Visible {
					columns[i] = "a column that you may not see"
				}
			}
			ways = append(ways, fmt.Sprintf("%s by %s to %s", tableName(t), strings.Join(columns, ", "), tableName(t.Path.Parent)))
		}
	}
	if len(ways) == 0 {
		return ""
	}
	return "Unit path: " + strings.Join(ways, "; ")
}

// tableName is a table's, where the analyst may see anything of it.
func tableName(t *plan.Table) string {
	if slices.ContainsFunc(t.Columns, func(c plan.TableColumn) bool { return c.Visible }) {
		return t.Name
	}
	return "a table that you may not see"
}

// accountantsLine is what each accountant says of a statement by itself.
func (s *Session) accountantsLine(mp *measure.Plan) (told, error) {
	f := s.engine.filter()
	charges, err := budget.Charges(mp.Events(), f.Delta)
	if err != nil {
		return told{}, err
	}
	var words []string
	var values []accountantJSON
	for _, c := range charges {
		words = append(words, c.String())
		v := accountantJSON{c.Accountant, finite(c.Epsilon), c.Parameter, nil, c.Why}
		if c.Parameter != "" {
			v.Value = finite(c.Value)
		}
		values = append(values, v)
	}
	return told{fmt.Sprintf("By each accountant, this statement alone at delta %s: %s", number(f.Delta), strings.Join(words, "; ")), "Accountants", values}, nil
}

type accountantJSON struct {
	Accountant string   `json:"Accountant"`
	Epsilon    *float64 `json:"Epsilon"`
	Parameter  string   `json:"Parameter,omitempty"`
	Value      *float64 `json:"Value,omitempty"`
	Why        string   `json:"Why,omitempty"`
}

// finite is x for JSON to nine digits, where infinity is null.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	if y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 9, 64), 64); err == nil {
		x = y
	}
	return &x
}

// comparedLines are the expected errors under each noise at the same price, and what each of them costs. The statement's own is one of them.
func (x explainer) comparedLines(mp *measure.Plan) ([]told, error) {
	a, f := x.st.an, x.session.engine.filter()
	if mp.Mechanism != measure.Laplace && mp.Mechanism != measure.Gaussian {
		return nil, nil
	}
	var out []told
	for _, mech := range []measure.Mechanism{measure.Laplace, measure.Gaussian} {
		name := map[measure.Mechanism]string{measure.Laplace: "Laplace", measure.Gaussian: "Gaussian"}[mech]
		of, err := mp, error(nil)
		if mech != mp.Mechanism {
			ask := x.st.ask
			ask.Mechanism = mech
			if of, err = measure.New(a, ask); err != nil {
				why := "a budget of plain epsilons has no price for it"
				if f.Order != 0 {
					why = "the bounding or the size of the noise does not allow it"
				}
				out = append(out, line("With %s noise at this price: none (%s)", name, why))
				continue
			}
		}
		errs, err := expectedErrors(x.program, a, of, usualCounts...)
		if err != nil {
			return nil, err
		}
		taken := ""
		if mech == mp.Mechanism {
			taken = " (taken)"
		}
		loss := fmt.Sprintf("epsilon %s, Renyi %s", number(of.Loss.Pure), number(of.Loss.Renyi))
		if math.IsInf(of.Loss.Pure, 1) {
			loss = "Renyi " + number(of.Loss.Renyi)
		} else if f.Order == 0 {
			loss = "epsilon " + number(of.Loss.Pure)
		}
		if texts := texts(errs); texts != nil {
			out = append(out, told{fmt.Sprintf("With %s noise at this price: %s; %s%s", name, loss, strings.Join(texts, "; "), taken),
				"", comparedJSON{mech == mp.Mechanism, lossJSON(f, of), errs}})
		}
	}
	return out, nil
}

type comparedJSON struct {
	Taken    bool       `json:"Taken"`
	Charge   chargeJSON `json:"Charge"`
	Expected []expected `json:"Expected Errors"`
}

// chargeJSON is a charge's numbers; null for what has none.
type chargeJSON struct {
	Price     float64  `json:"Price"`
	Mechanism string   `json:"Mechanism"`
	Epsilon   *float64 `json:"Epsilon"`
	Renyi     *float64 `json:"Renyi"`
	Order     *float64 `json:"Order"`
	Delta     float64  `json:"Delta"`
}

func lossJSON(f *budget.Filter, mp *measure.Plan) chargeJSON {
	out := chargeJSON{Price: mp.Price, Mechanism: string(mp.Mechanism), Epsilon: finite(mp.Loss.Pure), Delta: mp.Loss.Delta}
	if f.Order != 0 {
		out.Renyi, out.Order = finite(mp.Loss.Renyi), &f.Order
	}
	return out
}

// expected is the 95% error that one output column is expected to have.
type expected struct {
	Column string   `json:"Column"`
	Words  string   `json:"Words"`
	Error  *float64 `json:"Error95"` // absent where it depends on what is chosen, or has no one number
}

func texts(list []expected) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Column+" "+e.Words)
	}
	return out
}

// shareText is a part of the price.
func shareText(part float64) string { return "; " + number(100*part) + "% of the price" }
