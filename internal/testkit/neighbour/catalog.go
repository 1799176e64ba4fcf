package neighbour

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Catalog is a plan.Catalog made from text, one line a table and one an indented column:
//
//	patients unit=patient_id key=patient_id m=1
//	  patient_id int4 notnull
//	  gender text values=Female|Male|null
//	  weight float8 range=0..300 step=0.5
//	prescriptions path=encounter_id->encounters.encounter_id m=6
//	  kind int4 from=kinds.id
//	kinds public key=id
//
// A table without public is private; unit names its own column, path the foreign key by which it is reached, else the columns that name a unit where that leads to no person, own the key by which
// rows without a person are units of their own.
type Catalog struct {
	Tables []*plan.Table
	byName map[string]*plan.Table
}

// Table resolves a name in schema public.
func (c *Catalog) Table(schema, name string) (*plan.Table, bool) {
	if schema == "" {
		schema = schemaName
	}
	t, ok := c.byName[name]
	return t, ok && t.Schema == schema
}

// VisibleTables lists all tables.
func (c *Catalog) VisibleTables() []*plan.Table { return c.Tables }

const schemaName = "public"

// ParseCatalog reads a catalog; a table may refer to tables above and below it.
func ParseCatalog(text string) (*Catalog, error) {
	c := &Catalog{byName: map[string]*plan.Table{}}
	var later []func() error
	var table *plan.Table
	var words []string
	finish := func() {
		if t, w := table, words; t != nil {
			later = append(later, func() error { return c.tableOptions(t, w) })
		}
	}
	for _, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if line[0] != ' ' {
			finish()
			table = &plan.Table{OID: uint32(20000 + len(c.Tables)), Schema: schemaName, Name: fields[0], UnitCol: -1}
			if schema, name, ok := strings.Cut(table.Name, "."); ok {
				table.Schema, table.Name = schema, name
			}
			words = fields[1:]
			c.Tables = append(c.Tables, table)
			c.byName[table.Name] = table
			continue
		}
		if table == nil || len(fields) < 2 {
			return nil, fmt.Errorf("neighbour: line %q", line)
		}
		col := plan.TableColumn{Name: fields[0], Visible: true}
		var err error
		if col.Type, err = parseType(fields[1]); err != nil {
			return nil, err
		}
		t, i := table, len(table.Columns)
		table.Columns = append(table.Columns, col)
		opts := fields[2:]
		later = append(later, func() error { return c.columnOptions(&t.Columns[i], opts) })
	}
	finish()
	for _, f := range later {
		if err := f(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Catalog) tableOptions(t *plan.Table, opts []string) error {
	for _, o := range opts {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case "public":
			t.Public = true
		case "unit":
			t.UnitCol = columnIndex(t, value)
		case "key":
			var k []int
			for _, col := range strings.Split(value, ",") {
				k = append(k, columnIndex(t, col))
			}
			t.Keys = append(t.Keys, k)
		case "else":
			for _, col := range strings.Split(value, ",") {
				t.UnitElse = append(t.UnitElse, columnIndex(t, col))
			}
		case "own":
			for _, col := range strings.Split(value, ",") {
				t.OwnKey = append(t.OwnKey, columnIndex(t, col))
			}
		case "m":
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return err
			}
			t.MaxRows = n
		case "often": // often=a,b:3
			cols, most, _ := strings.Cut(value, ":")
			n, err := strconv.ParseUint(most, 10, 64)
			if err != nil {
				return err
			}
			m := plan.MaxFrequency{Most: n}
			for _, col := range strings.Split(cols, ",") {
				m.Columns = append(m.Columns, columnIndex(t, col))
			}
			t.MaxFrequency = append(t.MaxFrequency, m)
		case "kind":
			t.Units = dp.Units{dp.Unit(value)}
		case "path":
			var err error
			if t.Path, err = c.path(t, value); err != nil {
				return err
			}
			if t.Units == nil {
				t.Units = t.Path.Parent.Units
			}
			asParent(t)
		case "also":
			if err := c.also(t, value); err != nil {
				return err
			}
		default:
			return fmt.Errorf("neighbour: option %q of table %s", o, t.Name)
		}
	}
	if !t.Public && t.Units == nil {
		t.Units = dp.Units{"patients.patient_id"}
	}
	return nil
}

func (c *Catalog) path(t *plan.Table, value string) (*plan.UnitPath, error) {
	from, to, _ := strings.Cut(value, "->")
	parent, cols, _ := strings.Cut(to, ".")
	p, ok := c.byName[parent]
	if !ok {
		return nil, fmt.Errorf("neighbour: no table %q", parent)
	}
	path := &plan.UnitPath{Parent: p}
	for _, n := range strings.Split(from, ",") {
		path.Columns = append(path.Columns, columnIndex(t, n))
	}
	for _, n := range strings.Split(cols, ",") {
		path.ParentColumns = append(path.ParentColumns, columnIndex(p, n))
	}
	return path, nil
}

// also gives a table, whose options before say its way to one kind of units, a way to another one.
func (c *Catalog) also(t *plan.Table, value string) error {
	path, err := c.path(t, value)
	if err != nil {
		return err
	}
	one, other := *t, *t
	other.Units, other.Path, other.UnitCol = path.Parent.Units, path, ownUnit(path)
	one.Whole, other.Whole = t, t
	t.Units = dp.Units{one.Units[0], other.Units[0]}
	t.Of, t.Path, t.UnitCol = []*plan.Table{&one, &other}, nil, -1
	return nil
}

// ownUnit is the column that holds the unit's value as the parent has it, or -1.
func ownUnit(path *plan.UnitPath) int {
	for i, pc := range path.ParentColumns {
		if pc == path.Parent.UnitCol {
			return path.Columns[i]
		}
	}
	return -1
}

// asParent gives the child of a table of two kinds a way to each, by the same path.
func asParent(t *plan.Table) {
	for _, of := range t.Path.Parent.Of {
		own, path := *t, *t.Path
		path.Parent = of
		own.Units, own.Path, own.Whole = of.Units, &path, t
		own.UnitCol = ownUnit(&path)
		t.Of = append(t.Of, &own)
	}
	if t.Of != nil {
		t.Path, t.UnitCol = nil, -1
	}
}

func columnIndex(t *plan.Table, name string) int {
	for i, c := range t.Columns {
		if c.Name == name {
			return i
		}
	}
	panic(fmt.Sprintf("neighbour: table %s has no column %q", t.Name, name))
}

func (c *Catalog) columnOptions(col *plan.TableColumn, opts []string) error {
	for _, o := range opts {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case "notnull":
			col.NotNull = true
		case "hidden":
			col.Visible = false
		case "range":
			lo, hi, _ := strings.Cut(value, "..")
			l, err1 := rangeEnd(lo, col.Type)
			h, err2 := rangeEnd(hi, col.Type)
			if err1 != nil || err2 != nil {
				return fmt.Errorf("neighbour: range %q", value)
			}
			col.Range = &num.Interval{Lo: l, Hi: h}
		case "step":
			d, err := decimal.NewFromString(value)
			if err != nil {
				return err
			}
			col.Step = &d
		case "values":
			col.Domain = &plan.Domain{}
			for _, v := range strings.Split(value, "|") {
				if v == "null" {
					col.Domain.Values = append(col.Domain.Values, nil)
					continue
				}
				parsed, err := sqltype.ParseText(v, col.Type)
				if err != nil {
					return err
				}
				col.Domain.Values = append(col.Domain.Values, parsed)
			}
		case "from":
			value, null := strings.CutSuffix(value, "|null")
			table, column, _ := strings.Cut(value, ".")
			t, ok := c.byName[table]
			if !ok {
				return fmt.Errorf("neighbour: no table %q", table)
			}
			col.Domain = &plan.Domain{From: t, FromColumn: columnIndex(t, column), OrNull: null}
		default:
			return fmt.Errorf("neighbour: option %q of column %s", o, col.Name)
		}
	}
	return nil
}

// rangeEnd is a number, or a date or timestamp as plan.TableColumn counts it.
func rangeEnd(s string, t sqltype.Type) (decimal.Decimal, error) {
	if t.IsNumber() {
		return decimal.NewFromString(s)
	}
	v, err := sqltype.ParseText(s, t)
	d, ok := funcs.Measured(v)
	if err == nil && !ok {
		err = fmt.Errorf("neighbour: %q is no end of a range", s)
	}
	return d, err
}

var typeForm = regexp.MustCompile(`^([a-z0-9]+)(?:\((\d+)(?:,(\d+))?\))?$`)

var typeNames = map[string]sqltype.Type{"int2": sqltype.Int2, "int4": sqltype.Int4, "int8": sqltype.Int8, "float4": sqltype.Float4,
	"float8": sqltype.Float8, "numeric": sqltype.Numeric, "text": sqltype.Text, "bool": sqltype.Bool, "date": sqltype.Date,
	"timestamp": sqltype.Timestamp, "timestamptz": sqltype.Timestamptz, "varchar": sqltype.Varchar, "char": sqltype.BPChar,
	"time": sqltype.Time, "timetz": sqltype.Timetz, "interval": sqltype.IntervalType, "bytea": sqltype.Bytea, "uuid": sqltype.UUIDType}

func parseType(s string) (sqltype.Type, error) {
	m := typeForm.FindStringSubmatch(s)
	if m == nil {
		return sqltype.Type{}, fmt.Errorf("neighbour: type %q", s)
	}
	t, ok := typeNames[m[1]]
	if !ok {
		return t, fmt.Errorf("neighbour: type %q", s)
	}
	if m[2] == "" {
		return t, nil
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return t, err
	}
	if t.OID != sqltype.OIDNumeric {
		t.Typmod = int32(n + 4)
		return t, nil
	}
	scale, err := strconv.Atoi("0" + m[3])
	return sqltype.NumericOf(n, scale), err
}
