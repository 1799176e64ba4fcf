package pgmeta

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// shownValues is how many values of a domain a column's comment lists. dpsql.domains has all.
const shownValues = 20

// addComments publishes what the policy says of the tables and columns that the analyst may see, as comments: psql's \d+ and \dt+ show them.
func addComments(a *adder) {
	d := a.database
	for _, t := range d.tables {
		if t.Schema == own || t.Description != "" { // or synthetic
			addOwnComments(a, t)
			continue
		}
		a.row("objoid", int64(t.OID), "classoid", oidOfClass, "description", tableComment(t))
		for i, c := range t.Columns {
			if c.Visible {
				a.row("objoid", int64(t.OID), "classoid", oidOfClass, "objsubid", t.AttNum(i), "description", d.columnComment(t, i))
			}
		}
	}
}

// addOwnComments tells what one of dpsql's own tables is for, and what its columns say.
func addOwnComments(a *adder, t *plan.Table) {
	if t.Description != "" {
		a.row("objoid", int64(t.OID), "classoid", oidOfClass, "description", t.Description)
	}
	for i, c := range t.Columns {
		if c.Description != "" {
			a.row("objoid", int64(t.OID), "classoid", oidOfClass, "objsubid", t.AttNum(i), "description", c.Description)
		}
	}
}

// tableComment says whose a table's rows are.
func tableComment(t *plan.Table) string {
	if t.Public {
		return "public: its rows belong to no privacy unit"
	}
	var units []string
	for _, u := range t.Units {
		units = append(units, string(u))
	}
	text := "private, privacy unit " + strings.Join(units, " and ")
	if t.Path != nil && t.MaxRows > 0 {
		text += fmt.Sprintf(", at most %d of a unit's rows count", t.MaxRows)
	}
	if t.Unprotected {
		text += ", other people whom a row names are not protected"
	}
	if t.OwnKey != nil {
		text += ", a row without a unit is a unit of its own"
	}
	return text
}

// columnComment is the owner's description of a column, and what the policy declares of it.
func (d *Database) columnComment(t *plan.Table, i int) string {
	c := &t.Columns[i]
	words := []string{"private"}
	if t.Public {
		words[0] = "public"
	}
	if text := unitText(t, i); text != "" {
		words = append(words, text)
	}
	if c.Unprotected {
		words = append(words, "a person whom it names is not protected")
	}
	if c.Range != nil {
		lo, hi := c.RangeTexts()
		words = append(words, fmt.Sprintf("range %s to %s", lo, hi))
	}
	if c.Step != nil {
		words = append(words, "step "+c.Step.String())
	}
	if e := c.Elements; e != nil {
		words = append(words, fmt.Sprintf("%d numbers from %s to %s", e.Length, e.Range.Lo, e.Range.Hi))
	}
	if c.Domain != nil {
		words = append(words, d.domainText(c))
	}
	text := strings.Join(words, ", ")
	if c.Description != "" {
		return c.Description + " (" + text + ")"
	}
	return text
}

// unitText says which privacy units a column holds or leads to.
func unitText(t *plan.Table, column int) string {
	kinds := t.Of
	if len(kinds) == 0 {
		kinds = []*plan.Table{t}
	}
	var leads []string
	for _, k := range kinds {
		switch {
		case k.Public:
		case k.Path == nil && k.UnitCol == column:
			return "the privacy unit"
		case k.UnitCol == column, slices.Contains(k.UnitElse, column), k.Path != nil && slices.Contains(k.Path.Columns, column):
			for _, u := range k.Units {
				leads = append(leads, string(u))
			}
		}
	}
	if leads == nil {
		return ""
	}
	return "leads to the privacy unit " + strings.Join(leads, " and ")
}

// domainText lists a column's public values.
func (d *Database) domainText(c *plan.TableColumn) string {
	dom := c.Domain
	if from := dom.From; from != nil {
		text := "values of a public table"
		if slices.Contains(d.tables, from) && from.Columns[dom.FromColumn].Visible {
			text = "values of " + from.Name + "." + from.Columns[dom.FromColumn].Name
		}
		if dom.OrNull {
			text += " or NULL"
		}
		return text
	}
	var list []string
	for _, v := range dom.Values[:min(len(dom.Values), shownValues)] {
		text, ok := valueText(v, c.Type).(string)
		if !ok {
			text = "NULL"
		}
		list = append(list, text)
	}
	text := "values " + strings.Join(list, ", ")
	if n := len(dom.Values) - len(list); n > 0 {
		text += fmt.Sprintf(" and %d more (dpsql.domains)", n)
	}
	return text
}

// valueText is a value of a domain as text, nil for NULL.
func valueText(v sqltype.Value, t sqltype.Type) sqltype.Value {
	switch v {
	case nil:
		return nil
	case true, false:
		return fmt.Sprint(v)
	}
	return sqltype.FormatText(v, t)
}

// Domains are the rows of dpsql.domains for an analyst's tables: all values of the columns whose comments list some.
func Domains(of plan.Catalog, tables []*plan.Table) (rows [][]sqltype.Value) {
	for _, t := range tables {
		schema := schemaOf(of, t)
		for i := range t.Columns {
			c := &t.Columns[i]
			if !c.Visible || c.Domain == nil || c.Domain.From != nil {
				continue
			}
			for n, v := range c.Domain.Values {
				rows = append(rows, []sqltype.Value{schema, t.Name, c.Name, int64(n + 1), valueText(v, c.Type)})
			}
		}
	}
	return rows
}
