package proxy

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// COPY (query) TO STDOUT is another way to give an answer: the query is prepared, charged and run as if it had been sent alone, and
// only then the copying begins. COPY of a table by its name is for raw rows, COPY FROM writes, a file is the server's: refused.

const copyToClient = "Nobody can here. COPY (query) TO STDOUT sends the rows to the client, and psql's \\copy (query) TO writes them to a file there."

// refuseCopy refuses what no COPY here does, by name, before anything starts.
func (s *connection) refuseCopy(pos pgsyntax.Pos, c *pgsyntax.Copy) error {
	switch {
	case c == nil:
		return sqlerr.New(sqlerr.Unsupported, "COPY FROM is not supported").At(int(pos)).
			WithHint("dpsql only reads. What is to be kept beside the data is the owner's to load.")
	case c.Program != "":
		return sqlerr.New(sqlerr.Privilege, "must be superuser or have privileges of the pg_execute_server_program role to COPY to or from an external program").WithHint(copyToClient)
	case c.File != "":
		return sqlerr.New(sqlerr.Privilege, "must be superuser or have privileges of the pg_write_server_files role to COPY to a file").WithHint(copyToClient)
	case c.Query == nil:
		return s.copyInstead(c.Table)
	}
	return nil
}

// copyInstead refuses COPY of a table, and says what to copy in its place: what the engine takes.
func (s *connection) copyInstead(t *pgsyntax.TableName) error {
	sel, columns := &pgsyntax.Select{From: []pgsyntax.TableExpr{&pgsyntax.TableName{Schema: t.Schema, Name: t.Name}}}, "*"
	if len(t.Columns) == 0 {
		sel.Targets = []pgsyntax.Target{{Expr: &pgsyntax.Star{}}}
	}
	for i, name := range t.Columns {
		sel.Targets = append(sel.Targets, pgsyntax.Target{Expr: &pgsyntax.ColumnRef{Path: []string{name}}})
		if columns = pgsyntax.QuoteIdent(t.Columns[0]); i > 0 {
			columns += ", " + pgsyntax.QuoteIdent(name)
		}
	}
	st, err := s.prepareMade(sel)
	instead := "SELECT " + columns + " FROM " + t.Spelled()
	if err == nil {
		if of, ok := st.prepared.(interface{ IsForPersonRows() bool }); ok && of.IsForPersonRows() {
			err = sqlerr.New(sqlerr.RawRows, "rows of private tables cannot be shown")
		}
	}
	var e *sqlerr.Error
	switch errors.As(err, &e); {
	case err == nil:
	case sqlerr.ID(err) == sqlerr.UndefinedTable.ID, sqlerr.ID(err) == sqlerr.UndefinedColumn.ID:
		return unplaced(err)
	default:
		instead = "SELECT count(*) FROM " + t.Spelled()
		if _, example, ok := strings.Cut(e.Hint, "for example: "); ok && sqlerr.ID(err) == sqlerr.RawRows.ID {
			instead = example
		}
	}
	return sqlerr.New(sqlerr.Unsupported, "COPY of a table is not supported").At(int(t.Pos)).WithHint("Copy an answer: COPY (%s) TO STDOUT", instead)
}

// copyOptions are those of a COPY TO, PostgreSQL's defaults filled in.
type copyOptions struct {
	format string // text, csv or binary
	header bool
	delim  byte
	null   string
	quote  byte
	escape byte
	force  []string // columns that are quoted always; "*" all
	set    *charset // nil for UTF-8
}

// runCopy is COPY (query) TO STDOUT.
func (s *connection) runCopy(c *pgsyntax.Copy, text string) (*answer.Answer, error) {
	opts, err := s.readCopyOptions(c.Options)
	if err != nil {
		return nil, err
	}
	inner, err := s.prepareInner(c.Query, c.At, text, nil)
	if err != nil {
		return nil, err
	}
	if err := noParams(c.Query); err != nil {
		return nil, err
	}
	force := make([]bool, len(inner.columns))
	for _, name := range opts.force {
		i := slices.IndexFunc(inner.columns, func(c answer.Column) bool { return c.Name == name })
		switch {
		case name == "*":
			for j := range force {
				force[j] = true
			}
		case i < 0:
			return nil, sqlerr.New(sqlerr.UndefinedColumn, "column \"%s\" does not exist", name)
		default:
			force[i] = true
		}
	}
	answer, err := s.answer(inner, nil)
	if err != nil {
		return nil, err
	}
	if answer.MadeUp && len(answer.Rows) > 0 {
		_ = answer.Close()
		return nil, sqlerr.New(sqlerr.RawRows, "rows that are made up cannot be copied").WithHint("Nothing in the copy would say that no person is in them. Copy an aggregate.")
	}
	s.tell(answer)
	n, err := s.copyOut(inner.columns, answer, opts, force)
	if err != nil {
		return nil, err
	}
	return tag("COPY " + strconv.Itoa(n))
}

func copyConflict(format string, args ...any) *sqlerr.Error {
	return sqlerr.New(sqlerr.Syntax, format, args...)
}

// readCopyOptions reads options as PostgreSQL's ProcessCopyOptions does, with its errors in its order.
func (s *connection) readCopyOptions(list []pgsyntax.CopyOption) (*copyOptions, error) {
	o := &copyOptions{format: "text", set: s.charset()}
	given := map[string]string{}
	for _, opt := range list {
		if _, twice := given[opt.Name]; twice {
			return nil, copyConflict("conflicting or redundant options").At(int(opt.Pos))
		}
		given[opt.Name] = ""
		if err := o.read(opt, given); err != nil {
			return nil, err
		}
	}
	return o, o.check(given)
}

// read takes one option's value; what is checked together stands in given.
func (o *copyOptions) read(opt pgsyntax.CopyOption, given map[string]string) error {
	value := ""
	if len(opt.Values) > 0 {
		value = opt.Values[0]
	}
	switch opt.Name {
	case "format", "delimiter", "null", "quote", "escape", "encoding":
		if len(opt.Values) == 0 {
			return copyConflict("%s requires a parameter", opt.Name)
		}
	}
	switch opt.Name {
	case "format":
		if !slices.Contains([]string{"text", "csv", "binary"}, value) {
			return sqlerr.New(sqlerr.InvalidParam, "COPY format \"%s\" not recognized", value).At(int(opt.Pos))
		}
		o.format = value
	case "delimiter", "null", "quote", "escape":
		given[opt.Name] = value
	case "freeze":
		_, err := copyBool(opt.Name, opt.Values, "")
		return err
	case "header":
		if len(opt.Values) == 1 && strings.EqualFold(value, "match") {
			return sqlerr.New(sqlerr.Unsupported, "cannot use \"%s\" with HEADER in COPY TO", value)
		}
		var err error
		o.header, err = copyBool(opt.Name, opt.Values, " or \"match\"")
		return err
	case "force_quote", "force_not_null", "force_null":
		if star := len(opt.Values) == 1 && value == "*"; !opt.List && (!star || opt.Name != "force_quote") {
			return sqlerr.New(sqlerr.InvalidParam, "argument to option \"%s\" must be a list of column names", opt.Name).At(int(opt.Pos))
		}
		if opt.Name == "force_quote" {
			o.force = opt.Values
		}
	case "encoding":
		return o.encoding(value, opt.Pos)
	default:
		return copyConflict("option \"%s\" not recognized", opt.Name).At(int(opt.Pos))
	}
	return nil
}

func copyBool(name string, values []string, or string) (bool, error) {
	if len(values) == 0 {
		return true, nil
	}
	switch strings.ToLower(values[0]) {
	case "true", "on", "1":
		return true, nil
	case "false", "off", "0":
		return false, nil
	}
	return false, copyConflict("%s requires a Boolean value%s", name, or)
}

func (o *copyOptions) encoding(value string, pos pgsyntax.Pos) error {
	p := parameters["client_encoding"]
	name, err := clientEncoding(p, []string{value})
	switch {
	case err != nil && sqlerr.ID(err) == sqlerr.Unsupported.ID:
		return err
	case err != nil:
		return sqlerr.New(sqlerr.InvalidParam, "argument to option \"encoding\" must be a valid encoding name").At(int(pos))
	}
	o.set = charsetOf(name)
	return nil
}

// check fills in the defaults and refuses what does not go together.
func (o *copyOptions) check(given map[string]string) error {
	has := func(name string) bool { _, ok := given[name]; return ok }
	binary, csv := o.format == "binary", o.format == "csv"
	if binary && has("delimiter") {
		return copyConflict("cannot specify DELIMITER in BINARY mode")
	}
	if binary && has("null") {
		return copyConflict("cannot specify NULL in BINARY mode")
	}
	delim, null, quote := "\t", `\N`, ""
	if csv {
		delim, null, quote = ",", "", `"`
	}
	if has("delimiter") {
		delim = given["delimiter"]
	}
	if has("null") {
		null = given["null"]
	}
	if has("quote") {
		quote = given["quote"]
	}
	escape := quote
	if has("escape") {
		escape = given["escape"]
	}
	invalid := func(format string, args ...any) error { return sqlerr.New(sqlerr.InvalidParam, format, args...) }
	unsupported := func(format string, args ...any) error { return sqlerr.New(sqlerr.Unsupported, format, args...) }
	switch {
	case len(delim) != 1:
		return unsupported("COPY delimiter must be a single one-byte character")
	case strings.ContainsAny(delim, "\r\n"):
		return invalid("COPY delimiter cannot be newline or carriage return")
	case strings.ContainsAny(null, "\r\n"):
		return invalid("COPY null representation cannot use newline or carriage return")
	case !csv && strings.Contains(`\.abcdefghijklmnopqrstuvwxyz0123456789`, delim):
		return invalid("COPY delimiter cannot be \"%s\"", delim)
	case binary && o.header:
		return unsupported("cannot specify HEADER in BINARY mode")
	case !csv && has("quote"):
		return unsupported("COPY quote available only in CSV mode")
	case csv && len(quote) != 1:
		return unsupported("COPY quote must be a single one-byte character")
	case csv && delim == quote:
		return invalid("COPY delimiter and quote must be different")
	case !csv && has("escape"):
		return unsupported("COPY escape available only in CSV mode")
	case csv && len(escape) != 1:
		return unsupported("COPY escape must be a single one-byte character")
	case !csv && o.force != nil:
		return unsupported("COPY force quote available only in CSV mode")
	case !csv && has("force_not_null"):
		return unsupported("COPY force not null available only in CSV mode")
	case has("force_not_null"):
		return unsupported("COPY force not null only available using COPY FROM")
	case !csv && has("force_null"):
		return unsupported("COPY force null available only in CSV mode")
	case has("force_null"):
		return unsupported("COPY force null only available using COPY FROM")
	case strings.Contains(null, delim):
		return unsupported("COPY delimiter must not appear in the NULL specification")
	case csv && strings.Contains(null, quote):
		return unsupported("CSV quote character must not appear in the NULL specification")
	}
	o.delim, o.null = delim[0], null
	if csv {
		o.quote, o.escape = quote[0], escape[0]
	}
	return nil
}

// noParams refuses $n: COPY's query has no parameters.
func noParams(q *pgsyntax.Select) error {
	var first *pgsyntax.Param
	pgsyntax.Walk(q, &pgsyntax.Visitor{Expr: func(x pgsyntax.Expr) bool {
		if p, ok := x.(*pgsyntax.Param); ok && (first == nil || p.Pos < first.Pos) {
			first = p
		}
		return true
	}})
	if first == nil {
		return nil
	}
	return noSuchParam(first)
}

func noSuchParam(p *pgsyntax.Param) error {
	return sqlerr.New(sqlerr.UndefinedParam, "there is no parameter $%d", p.N).At(int(p.Pos))
}

// textOf is a value in text form and the copy's encoding.
func (o *copyOptions) textOf(b []byte) ([]byte, error) {
	if o.set == nil || ascii(b) {
		return b, nil
	}
	return o.set.encode(make([]byte, 0, len(b)), b)
}

// columnFormat is 1 for binary.
func (o *copyOptions) columnFormat() int16 {
	if o.format == "binary" {
		return sqltype.BinaryFormat
	}
	return sqltype.TextFormat
}
