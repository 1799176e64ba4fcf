package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// unitPath says by which foreign keys the statement's private tables reach their person; "" where all have the person's column.
func unitPath(a *sensitivity.Analysis) string {
	var ways []string
	seen := map[*plan.Table]bool{}
	var from []*plan.Table
	for _, s := range server.ScansOf(a.Agg.Input) {
		if from = append(from, s.Table.Of...); s.Table.Of == nil {
			from = append(from, s.Table)
		}
	}
	for _, first := range from {
		for t := first; t.Path != nil && t.UnitCol < 0 && !seen[t]; t = t.Path.Parent {
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
	return strings.Join(ways, "; ")
}

// tableName is a table's, where the analyst may see anything of it.
func tableName(t *plan.Table) string {
	if slices.ContainsFunc(t.Columns, func(c plan.TableColumn) bool { return c.Visible }) {
		return t.Name
	}
	return "a table that you may not see"
}

// What a guarantee speaks of: all that a statement is charged. That is less than the answer where stored releases are a part of it.
const (
	wholeAnswer = "this statement alone"
	newPart     = "the new part alone"
)

// guaranteedPart is wholeAnswer, or newPart where the answer contains a stored release.
func guaranteedPart(list []*private.StageRun) string {
	if slices.ContainsFunc(list, func(st *private.StageRun) bool { return st.IsCharged() && st.Release != nil }) {
		return newPart
	}
	return wholeAnswer
}

// accountantsLine is what each accountant says of all that a statement is charged, by itself. It says which part of the answer that is.
func accountantsLine(s *session.Session, part string, charged ...*price.Quote) (answer.Line, error) {
	f := s.Filter
	var events []dp.Event
	for _, mp := range charged {
		events = append(events, mp.Events()...)
	}
	charges, err := budget.Charges(events, f.Delta)
	if err != nil {
		return answer.Line{}, err
	}
	var words []string
	var values []accountantJSON
	for _, c := range charges {
		words = append(words, c.String())
		v := accountantJSON{c.Accountant, stage.Finite(c.Epsilon), c.Parameter, nil, c.Why}
		if c.Parameter != "" {
			v.Value = stage.Finite(c.Value)
		}
		values = append(values, v)
	}
	return answer.Line{Text: fmt.Sprintf("By each accountant, %s at delta %s: %s", part, server.Number(f.Delta), strings.Join(words, ". ")), Key: "Accountants", Value: values}, nil
}

// togetherSizes are the numbers of people of whom EXPLAIN says what a statement tells of all of them together: a couple, a family, a class.
var togetherSizes = []int{2, 5, 30}

// groupLine is what all that a statement is charged tells of several people together, by itself. It says which part of the answer that is.
func groupLine(s *session.Session, part string, charged ...*price.Quote) (answer.Line, error) {
	var events []dp.Event
	for _, mp := range charged {
		events = append(events, mp.Events()...)
	}
	groups, err := budget.Group(events, s.Filter.Delta, togetherSizes...)
	if err != nil {
		return answer.Line{}, err
	}
	var words []string
	for _, c := range groups {
		text := fmt.Sprintf("%d people epsilon %s", c.People, server.Number(c.Epsilon))
		switch {
		case !(c.Delta < 1):
			text = fmt.Sprintf("%d people nothing", c.People)
		case c.Delta > s.Filter.Delta:
			text += " at delta " + server.Number(c.Delta)
		}
		words = append(words, text)
	}
	return answer.Keyed("Group privacy", "%s at delta %s: %s", part, server.Number(s.Filter.Delta), strings.Join(words, ", ")), nil
}

type accountantJSON struct {
	Accountant string   `json:"Accountant"`
	Epsilon    *float64 `json:"Epsilon"`
	Parameter  string   `json:"Parameter,omitempty"`
	Value      *float64 `json:"Value,omitempty"`
	Why        string   `json:"Why,omitempty"`
}

// comparedLines are the expected errors under each noise at the same price, and what each of them costs. The statement's own is one of them. Where the data set's plain sum of epsilons has ended, only Renyi losses count there,
// which differ at one price: then also the other noise at the Renyi loss of the statement's own.
func (x Explainer) comparedLines(mp *price.Quote, b ledger.Balance) ([]answer.Line, error) {
	f := x.Filter
	if mp.Mechanism.Name() == "" {
		return nil, nil
	}
	var out []answer.Line
	for _, noise := range price.Compared {
		of, err := mp, error(nil)
		if noise != mp.Mechanism {
			ask := x.St.Request
			ask.Mechanism = noise
			if of, err = price.New(x.St.An, ask); err != nil {
				why := "a budget of plain epsilons has no price for it"
				if f.Order != 0 {
					why = "the bounding or the size of the noise does not allow it"
				}
				out = append(out, answer.Line{Text: fmt.Sprintf("With %s noise at this price: none (%s)", noise.Name(), why), Key: "Noises", Value: comparedJSON{Mechanism: string(noise), At: atPrice, Why: why}, Each: true})
				continue
			}
		}
		taken := ""
		if noise == mp.Mechanism {
			taken = " (taken)"
		}
		one, err := x.comparedLine(of, fmt.Sprintf("With %s noise at this price", noise.Name()), atPrice, taken)
		if err != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	if some, _ := b.PureEnded(); !some || f.Order == 0 {
		return out, nil
	}
	for _, noise := range price.Compared {
		if noise == mp.Mechanism {
			continue
		}
		of, err := x.planAtRenyi(noise, mp.Loss.Renyi)
		if err != nil || of == nil {
			return out, err
		}
		above := ""
		if most := x.Session.Analyst.MaxQueryEpsilon; of.Price > most {
			above = fmt.Sprintf(", more than the %s that you may ask for", server.Number(most))
		}
		one, err := x.comparedLine(of, fmt.Sprintf("With %s noise at the same Renyi loss, which alone counts since the plain sum of epsilons has ended: price %s%s", noise.Name(), server.Number(of.Price), above), atRenyi, "")
		if err != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	return out, nil
}

// comparedLine is the expected errors of a plan, after what it is; none where no output column is an aggregate.
func (x Explainer) comparedLine(of *price.Quote, what, at, taken string) ([]answer.Line, error) {
	f := x.Filter
	errs, err := stage.ExpectedErrors(x.Program, x.St.An, of, x.ExpectedRows(x.St.An, nil), stage.UsualCounts...)
	if err != nil {
		return nil, err
	}
	loss := fmt.Sprintf("epsilon %s, Renyi %s", server.Number(of.Loss.Pure), server.Number(of.Loss.Renyi))
	if math.IsInf(of.Loss.Pure, 1) {
		loss = "Renyi " + server.Number(of.Loss.Renyi)
	} else if f.Order == 0 {
		loss = "epsilon " + server.Number(of.Loss.Pure)
	}
	list := stage.Texts(errs)
	if list == nil {
		return nil, nil
	}
	separator, charge := ": ", lossJSON(f, of)
	if at == atRenyi {
		separator = ", "
	}
	return []answer.Line{{Text: fmt.Sprintf("%s%s%s, %s%s", what, separator, loss, strings.Join(list, ", "), taken), Key: "Noises", Value: comparedJSON{string(of.Mechanism), at, taken != "", "", &charge, errs}, Each: true}}, nil
}

// planAtRenyi is the plan of a noise at the largest price at which it loses no more on the Renyi side than this; nil where it has none.
func (x Explainer) planAtRenyi(mechanism price.Mechanism, most float64) (best *price.Quote, err error) {
	ask := x.St.Request
	ask.Mechanism = mechanism
	low, high := ask.Least, 1000.0
	for high/low > 1.002 {
		ask.Epsilon = math.Sqrt(low * high)
		mp, err := price.New(x.St.An, ask)
		switch id := sqlerr.ID(err); {
		case id == sqlerr.NoiseTooLarge.ID: // at larger prices it is smaller
			low = ask.Epsilon
		case id != "": // the bounding does not allow it
			return nil, nil
		case err != nil:
			return nil, err
		case mp.Loss.Renyi > most:
			high = ask.Epsilon
		default:
			best, low = mp, ask.Epsilon
		}
	}
	return best, nil
}

// At what noises are compared: the same price, or the same Renyi loss.
const (
	atPrice = "price"
	atRenyi = "renyi"
)

type comparedJSON struct {
	Mechanism string           `json:"Mechanism"`
	At        string           `json:"At"`
	Taken     bool             `json:"Taken"`
	Why       string           `json:"Why,omitempty"` // there is none
	Charge    *chargeJSON      `json:"Charge"`
	Expected  []stage.Expected `json:"Expected Errors"`
}

// chargeJSON is a charge's numbers; null for what has none, as an epsilon under Gaussian noise.
type chargeJSON struct {
	Price     float64  `json:"Price"`
	From      float64  `json:"From Price,omitempty"` // of a top-up, which is charged the difference
	Why       string   `json:"Why,omitempty"`        // nothing is charged
	Mechanism string   `json:"Mechanism,omitempty"`
	Epsilon   *float64 `json:"Epsilon"`
	Renyi     *float64 `json:"Renyi"`
	Order     *float64 `json:"Order"`
	Delta     float64  `json:"Delta"`
}

func lossJSON(f *budget.Filter, mp *price.Quote) chargeJSON {
	out := chargeJSON{Price: mp.Price, Mechanism: string(mp.Mechanism), Epsilon: stage.Finite(mp.Loss.Pure), Delta: mp.Loss.Delta}
	if f.Order != 0 {
		out.Renyi, out.Order = stage.Finite(mp.Loss.Renyi), &f.Order
	}
	return out
}

// freeLine tells of nothing that is charged: numbers as those of a charge.
func freeLine(f *budget.Filter, key, why string) answer.Line {
	none := lossJSON(f, &price.Quote{})
	none.Why = why
	text := key + ": nothing"
	if why != "" {
		text += " (" + why + ")"
	}
	return answer.Line{Text: text, Key: key, Value: none}
}
