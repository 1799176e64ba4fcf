package owner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
)

// line is one column as a policy lists it: live, or as a comment that the owner can uncomment.
type line struct {
	live  bool
	entry string // key: value
	note  string
}

// columnLines lists a table's columns.
func (s *schema) columnLines(t *table) []line {
	out := make([]line, len(t.rel.Columns))
	for i, c := range t.rel.Columns {
		out[i] = s.columnLine(t, c)
	}
	return out
}

const (
	rangeBlank  = "sums need range: [ , ] = lowest and highest value that make sense, values outside are cut; from meaning, never from max()"
	valuesBlank = "values: [ , ] lists its groups, and all are answered; without it groups are found with noise"
	shapeBlank  = "trainings need shape: [ , ] = how many numbers it has, and range: [ , ] of them"
	fileTypes   = "CSV carries no types: write the column's"
	typesOfFile = `# Types of CSV columns: integer, bigint, "numeric(12,2)" with its quotes, double precision, boolean, date, timestamp, text.`
)

func (s *schema) columnLine(t *table, c sqltype.RelationColumn) line {
	l := line{live: true, entry: scalar(c.Name) + ": {}", note: typeText(c.Type)}
	untyped := s.backend == backendFiles && c.Type.OID == sqltype.OIDText
	switch isKey := c.Name == t.rowKey; {
	case untyped && isKey:
		l.entry, l.note = scalar(c.Name)+": {type: text, not_null: true}", fileTypes
	case untyped:
		l.entry, l.note = scalar(c.Name)+": {type: text}", fileTypes
	case isKey:
		l.entry = scalar(c.Name) + ": {not_null: true}"
	}
	say := func(format string, args ...any) { l.note += "; " + fmt.Sprintf(format, args...) }
	fact := t.facts()[c.Name]
	keys, allowed := spelledFact(fact, c, !t.oneRow)
	switch {
	case !writableName(c.Name):
		l.live = false
		l.entry = inComment(c.Name)
		say("its name is longer than the 63 bytes that a policy's names have")
	case !c.Type.IsReadable() && c.List.OID != 0:
		l.live, l.note = false, "a list, as "+typeText(c.List)
		say(shapeBlank)
	case !c.Type.IsReadable():
		l.live = false
	case c.Denied:
		l.live = false
		say("left out: the database's user may not read it")
	case len(fact.Values) > 0 && len(keys) > 0 && !t.isKey(c.Name): // a listed value is no person's own, whatever the column is called
		l.entry = scalar(c.Name) + ": {" + strings.Join(keys, ", ") + "}"
		say("%s", allowed)
	case t.personal(c.Name):
		l.live = false
		say("left out: it names or reaches one person")
	case freeText(c.Name):
		l.live = false
		say("left out: free text can say anything about one person")
	case t.isKey(c.Name):
		s.domain(t, c, say)
	case len(keys) > 0:
		l.entry = scalar(c.Name) + ": {" + strings.Join(keys, ", ") + "}"
		say("%s", allowed)
	case c.Type.OID == sqltype.OIDBool && c.NotNull:
		l.entry = scalar(c.Name) + ": {values: [true, false]}"
	case c.Type.OID == sqltype.OIDBool:
		l.entry = scalar(c.Name) + ": {values: [true, false, null]}"
	case policy.NeedsRange(c.Type) && !namedLikeID(c.Name):
		say(rangeBlank)
	case c.Type.IsString() && !untyped:
		say(valuesBlank)
	case shaped(c.Type):
		say(shapeBlank)
	}
	if l.live && len(keys) == 0 && allowed != "" && !t.isKey(c.Name) {
		say("%s", allowed)
	}
	if c.Comment != "" {
		say("the database says: %s", inComment(c.Comment))
	}
	return l
}

// shaped says that a column of the type may be given a shape.
func shaped(t sqltype.Type) bool {
	elem, ok := t.Elem()
	return ok && elem.IsNumber() && elem.OID != sqltype.OIDInt8 || t.OID == sqltype.OIDBytea
}

// domain points to the list of values that a look-up table would give.
func (s *schema) domain(t *table, c sqltype.RelationColumn, say func(string, ...any)) {
	for _, e := range t.edges {
		if len(e.columns) == 1 && e.columns[0] == c.Name && e.to.hops < 0 && s.lookups[e.to] {
			from := "{from: " + inComment(s.spell(e.to)+"."+scalar(e.toColumns[0])) + "}"
			if !c.NotNull {
				from = "[" + from + ", null]"
			}
			say("values: %s, once that table is public", from)
			return
		}
	}
}

// isKey reports columns that stand for rows, in which a range has no meaning.
func (t *table) isKey(column string) bool {
	if t.path != nil && slices.Contains(t.path.columns, column) || column == t.unitColumn {
		return true
	}
	for _, e := range t.edges {
		if slices.Contains(e.columns, column) {
			return true
		}
	}
	return slices.ContainsFunc(t.rel.Keys, func(k []string) bool { return len(k) == 1 && k[0] == column })
}

// Words of columns by which one person is named or reached. One of them as a whole word is enough: whoever wants it removes a #.
var personalWords = []string{"name", "firstname", "lastname", "fullname", "surname", "username", "nickname", "login", "email", "mail", "phone", "telephone", "tel", "mobile",
	"cell", "fax", "address", "address1", "address2", "addr", "street", "ssn", "sin", "nino", "passport", "licence", "license", "iban", "bic", "password", "passwd", "pwd", "pass", "hash",
	"salt", "secret", "token", "apikey", "cookie", "session", "ip", "mac", "photo", "picture", "image", "avatar", "portrait", "signature", "fingerprint", "url", "uri", "homepage",
	"cvv", "cvc", "pan", "latitude", "longitude", "lat", "lon", "lng", "geom", "imei", "imsi", "plate", "vin", "insurance", "mrn", "contact"}

var personalPairs = []string{"credit card", "card number", "account number", "social security", "national id", "tax id", "api key", "device id", "e mail", "given name",
	"medical record", "health card"}

// personal reports a column that names or reaches one person. A number that stands for a row elsewhere, as address_id, does not.
func (t *table) personal(column string) bool {
	id := namedLikeID(column) && len(words(column)) > 1
	refers := slices.ContainsFunc(t.edges, func(e edge) bool { return slices.Contains(e.columns, column) })
	number := id && (refers || t.unique([]string{column}))
	return personalName(column) && !number
}

func namedLikeID(column string) bool {
	w := words(column)
	return len(w) > 0 && w[len(w)-1] == "id"
}

func personalName(column string) bool {
	w := words(column)
	if slices.ContainsFunc(w, func(x string) bool {
		return slices.Contains(personalWords, x) || slices.Contains(personalWords, singular(x))
	}) {
		return true
	}
	text := " " + strings.Join(w, " ") + " "
	return slices.ContainsFunc(personalPairs, func(p string) bool { return strings.Contains(text, " "+p+" ") })
}

var freeWords = []string{"note", "comment", "remark", "description", "text", "message", "body", "content", "memo", "bio", "biography", "narrative", "subject", "title", "summary",
	"details", "detail", "feedback", "answer", "reason", "transcript", "data", "json", "payload", "document", "attachment", "file"}

func freeText(column string) bool {
	w := words(column)
	return len(w) > 0 && slices.Contains(freeWords, singular(w[len(w)-1]))
}
