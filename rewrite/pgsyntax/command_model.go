package pgsyntax

import (
	"errors"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// model reads a statement of models or watches behind its first word; ok is false where it is none.
func (r *reader) model(t *token) (n Node, ok bool, err error) {
	switch {
	case t.is("train") && r.accept("dp", "model"):
		n, err = r.train(t, false)
	case t.is("create") && (r.words("dp", "model") || r.words("or", "replace", "dp", "model")):
		replace := r.accept("or", "replace")
		r.i += 2
		n, err = r.train(t, replace)
	case t.is("create") && r.accept("dp", "watch"):
		n, err = r.watch(t)
	case t.is("drop") && r.accept("dp", "watch"):
		n, err = r.dropWatch(t)
	case t.is("evaluate") && r.accept("dp", "model"):
		n, err = r.evaluate(t)
	case t.is("show") && r.accept("dp", "models"):
		n = &Models{Pos: Pos(t.pos), Verb: "SHOW"}
	case t.is("show") && r.words("dp", "model"):
		at := r.tok(1)
		return nil, true, sqlerr.New(sqlerr.Syntax, "syntax error at or near \"%s\"", at.raw).At(at.pos).WithHint("SHOW DP MODELS lists them; DESCRIBE DP MODEL m tells of one.")
	case t.is("describe") && r.accept("dp", "model"):
		n, err = r.models(t, "DESCRIBE")
	case t.is("drop") && r.accept("dp", "model"):
		n, err = r.models(t, "DROP")
	case t.is("alter") && r.accept("dp", "model"):
		n, err = r.models(t, "RENAME")
	case t.is("export") && r.accept("dp", "model"):
		n, err = r.models(t, "EXPORT")
	case t.is("grant") && r.accept("dp", "model"):
		n, err = r.models(t, "GRANT")
	case t.is("revoke") && r.accept("dp", "model"):
		n, err = r.models(t, "REVOKE")
	case (t.is("train") || t.is("create") || t.is("drop") || t.is("evaluate") || t.is("export")) && (r.words("model") || r.words("or", "replace", "model")):
		what, at := strings.ToUpper(t.text), t // where PostgreSQL has it, which knows CREATE and DROP
		if r.accept("or", "replace") {
			what += " OR REPLACE"
		}
		if t.is("create") || t.is("drop") {
			at = r.tok(0)
		}
		return nil, true, sqlerr.New(sqlerr.Syntax, "syntax error at or near \"%s\"", at.raw).At(at.pos).WithHint("Write %s DP MODEL: models of private rows are dpsql's own.", what)
	default:
		return nil, false, nil
	}
	return n, true, err
}

// bigQuery adds to the error of a query what BigQuery's functions of models are called here.
func (r *reader) bigQuery(from int, err error) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Hint != "" {
		return err
	}
	for i := from; i+2 < len(r.toks); i++ {
		if !r.toks[i].is("ml") || !r.toks[i+1].punct(".") {
			continue
		}
		switch {
		case r.toks[i+2].is("predict"):
			return e.WithHint("Write SELECT dp_predict('model', feature, ...) FROM ..., over private rows in an aggregate.")
		case r.toks[i+2].is("evaluate"):
			return e.WithHint("Write EVALUATE DP MODEL name ON SELECT ...")
		}
	}
	return err
}

func (r *reader) train(t *token, replace bool) (Node, error) {
	n := &Train{Pos: Pos(t.pos), Replace: replace}
	var err error
	if n.Name, err = r.word(); err != nil {
		return nil, err
	}
	if r.words("options") && r.tok(1).punct("(") {
		return n, r.trainOptions(n)
	}
	if err := r.clauses(n); err != nil {
		return nil, err
	}
	if t := r.tok(0); n.Model.Text == "" {
		if !t.is("as") {
			return nil, syntaxAt(t)
		}
		return nil, sqlerr.New(sqlerr.Syntax, "syntax error at or near \"%s\"", clip(t.raw)).At(t.pos).WithHint("USING names the model before AS, as in USING logistic_regression TARGET y.")
	}
	if t := r.tok(0); n.Target.Text == "" {
		return nil, sqlerr.New(sqlerr.Syntax, "syntax error at or near \"%s\"", clip(t.raw)).At(t.pos).WithHint("TARGET names the column that is learnt, before AS.")
	}
	if !r.accept("as") {
		return nil, r.unexpected()
	}
	n.Query, err = r.rows()
	return n, err
}

// clauses reads USING, METHOD, TARGET, SPLIT and WITH, in any order.
func (r *reader) clauses(n *Train) (err error) {
	for err == nil {
		switch {
		case n.Model.Text == "" && r.accept("using"):
			if n.Model, err = r.word(); err == nil && r.tok(0).punct("(") {
				n.Args, err = r.options()
			}
		case n.Method.Text == "" && r.accept("method"):
			n.Method, err = r.word()
		case n.Target.Text == "" && r.accept("target"):
			n.Target, err = r.word()
		case r.words("split") || r.words("with") && r.tok(1).punct("("):
			var more []Option
			more, err = r.with()
			n.With = append(n.With, more...)
		default:
			return nil
		}
	}
	return err
}

// trainOptions reads OPTIONS (model_type = ..., input_label_cols = [...], ...) AS query, as BigQuery ML has it; what has no name there is an option of WITH.
func (r *reader) trainOptions(n *Train) error {
	at := r.tok(0)
	r.i++
	list, err := r.options()
	if err != nil {
		return err
	}
	for _, o := range list {
		v := o.Values[0]
		switch name := strings.ToLower(o.Name.Text); {
		case name == "model_type" && !o.List && n.Model.Text == "":
			n.Model = Word{v.Pos, strings.ToLower(v.Text)}
		case name == "input_label_cols" && len(o.Values) == 1 && n.Target.Text == "":
			n.Target = v
		case name == "method" && !o.List && n.Method.Text == "":
			n.Method = v
		case name == "model_type" || name == "input_label_cols" || name == "method":
			return sqlerr.New(sqlerr.Syntax, "option %s takes one value", name).At(int(o.Name.Pos))
		default:
			n.With = append(n.With, o)
		}
	}
	if n.Model.Text == "" || n.Target.Text == "" {
		return sqlerr.New(sqlerr.Syntax, "a model needs OPTIONS (model_type = ..., input_label_cols = [...])").At(at.pos)
	}
	if !r.accept("as") {
		return r.unexpected()
	}
	n.Query, err = r.rows()
	return err
}

func (r *reader) evaluate(t *token) (Node, error) {
	n := &Evaluate{Pos: Pos(t.pos)}
	var err error
	if n.Owner, n.Name, err = r.ownedWord(); err != nil {
		return nil, err
	}
	if n.With, err = r.with(); err != nil {
		return nil, err
	}
	for more := r.accept("group", "by"); more; more = r.acceptPunct(",") {
		column, err := r.word()
		if err != nil {
			return nil, err
		}
		n.By = append(n.By, column)
	}
	if !r.accept("on") {
		return nil, r.unexpected()
	}
	n.Query, err = r.rows()
	return n, err
}

func (r *reader) models(t *token, verb string) (Node, error) {
	n := &Models{Pos: Pos(t.pos), Verb: verb}
	if verb == "DROP" {
		n.IfExists = r.accept("if", "exists")
	}
	var err error
	if n.Owner, n.Name, err = r.ownedWord(); err != nil {
		return nil, err
	}
	before := map[string][]string{"RENAME": {"rename", "to"}, "GRANT": {"to"}, "REVOKE": {"from"}, "EXPORT": {"as"}}[verb]
	if before == nil {
		return n, nil
	}
	if t := r.tok(0); !r.accept(before...) {
		if verb == "EXPORT" {
			return nil, sqlerr.New(sqlerr.Syntax, "syntax error at or near \"%s\"", clip(t.raw)).At(t.pos).WithHint("Say its form: EXPORT DP MODEL %s AS json, onnx, or onnx_base64.", n.Name.Text)
		}
		if verb == "GRANT" || verb == "REVOKE" {
			return nil, granted(t, verb, before[0], n.Name.Text)
		}
		return nil, syntaxAt(t)
	}
	t = r.tok(0)
	if n.To, err = r.word(); err == nil && t.cut { // cut, it would be another analyst's
		return nil, sqlerr.New(sqlerr.InvalidParam, "the name at or near \"%s\" is longer than %d bytes", clip(t.raw), nameLimit).At(t.pos).WithHint("Write a name of at most 63 bytes.")
	}
	if t := r.tok(0); err == nil && (verb == "GRANT" || verb == "REVOKE") && t.kind != tEnd && !t.punct(";") {
		return nil, granted(t, verb, before[0], n.Name.Text)
	}
	return n, err
}

// granted is the error of words that a GRANT or REVOKE does not have.
func granted(t *token, verb, to, model string) error {
	return sqlerr.New(sqlerr.Syntax, "syntax error at or near \"%s\"", clip(t.raw)).At(t.pos).WithHint("Name one analyst, and nothing after that: %s DP MODEL %s %s analyst.", verb, model, strings.ToUpper(to))
}

// rows reads the query at the end.
func (r *reader) rows() (*Select, error) {
	if t := r.tok(0); !t.punct("(") && !t.is("select") && !t.is("values") && !t.is("with") && !t.is("table") {
		return nil, syntaxAt(t)
	}
	return r.query()
}

// word reads a name.
func (r *reader) word() (Word, error) {
	t := r.tok(0)
	name, err := r.name()
	return Word{Pos(t.pos), name}, err
}

// ownedWord reads a model's name, also as owner.name.
func (r *reader) ownedWord() (owner, name Word, err error) {
	if name, err = r.word(); err == nil && r.acceptPunct(".") {
		owner = name
		name, err = r.word()
	}
	return owner, name, err
}

// with reads [SPLIT value] [WITH (...)], in either order.
func (r *reader) with() (out []Option, err error) {
	for {
		var more []Option
		switch {
		case r.words("with") && r.tok(1).punct("("):
			r.i++
			more, err = r.options()
		case r.words("split"):
			at := r.tok(0)
			r.i++
			value := r.tok(0)
			var text string
			text, err = r.settingValue()
			more = []Option{{Name: Word{Pos(at.pos), "split"}, Values: []Word{{Pos(value.pos), text}}}}
		default:
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
}

// options reads (name = value, ...).
func (r *reader) options() (out []Option, err error) {
	r.i++
	for {
		o := Option{}
		if o.Name, err = r.word(); err != nil {
			return nil, err
		}
		if t := r.tok(0); t.kind != tOp || t.text != "=" {
			return nil, syntaxAt(t)
		}
		r.i++
		end := ")"
		if o.List = r.acceptPunct("("); !o.List && r.acceptPunct("[") {
			o.List, end = true, "]"
		}
		for {
			at := r.tok(0)
			v, err := r.settingValue()
			if err != nil {
				return nil, err
			}
			o.Values = append(o.Values, Word{Pos(at.pos), v})
			if !o.List || !r.acceptPunct(",") {
				break
			}
		}
		if o.List && !r.acceptPunct(end) {
			return nil, r.unexpected()
		}
		out = append(out, o)
		if r.acceptPunct(")") {
			return out, nil
		}
		if !r.acceptPunct(",") {
			return nil, r.unexpected()
		}
	}
}
