package pgsyntax

import "strings"

// wordClass is PostgreSQL's class of a keyword (its Appendix C): it says where a bare word may be a name.
type wordClass uint8

const (
	plainWord    wordClass = iota // no keyword
	unreserved                    // any name
	colName                       // a column or table, not a function or type
	typeFuncName                  // a function or type, not a column or table
	reserved
)

// The keywords of PostgreSQL 17 that are not plainly unreserved.
const (
	reservedWords = `all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create
current_catalog current_date current_role current_time current_timestamp current_user default deferrable desc distinct do else end
except false fetch for foreign from grant group having in initially intersect into lateral leading limit localtime localtimestamp
not null offset on only or order placing primary references returning select session_user some symmetric system_user table then to
trailing true union unique user using variadic when where window with`
	typeFuncWords = `authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull join left like
natural notnull outer overlaps right similar tablesample verbose`
	colNameWords = `between bigint bit boolean char character coalesce dec decimal exists extract float greatest grouping inout int
integer interval json json_array json_arrayagg json_exists json_object json_objectagg json_query json_scalar json_serialize json_table
json_value least merge_action national nchar none normalize nullif numeric out overlay position precision real row setof smallint
substring time timestamp treat trim values varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi
xmlroot xmlserialize xmltable`
	// unreserved words that may not follow an expression as a label without AS
	asLabelUnreserved = `day filter hour minute month over second varying within without year`
	// other words that may not
	asLabelWords = `isnull notnull overlaps array as create except fetch for from grant group having intersect into limit offset on
order returning to union where window with char character precision`
)

var (
	wordClasses = map[string]wordClass{}
	needsAs     = map[string]bool{}
)

func init() {
	for class, words := range map[wordClass]string{reserved: reservedWords, typeFuncName: typeFuncWords,
		colName: colNameWords, unreserved: asLabelUnreserved} {
		for _, w := range strings.Fields(words) {
			wordClasses[w] = class
		}
	}
	for _, w := range strings.Fields(asLabelUnreserved + " " + asLabelWords) {
		needsAs[w] = true
	}
}

// isColID says whether a token may name a column, a table or an alias.
func (t *token) isColID() bool {
	return t.kind == tQuoted || t.kind == tWord && !t.bound && t.class() <= colName
}

// isTypeFuncName says whether a token may name a function or a type on its own.
func (t *token) isTypeFuncName() bool {
	return t.kind == tQuoted || t.kind == tWord && !t.bound && (t.class() <= unreserved || t.class() == typeFuncName)
}

// isLabel says whether a token may be a label after AS or a name after a point.
func (t *token) isLabel() bool { return t.kind == tQuoted || t.kind == tWord && !t.bound }

// isBareLabel says whether a token may be a label without AS.
func (t *token) isBareLabel() bool {
	return t.kind == tQuoted || t.kind == tWord && !t.bound && !needsAs[t.text]
}

func (t *token) class() wordClass { return wordClasses[t.text] }
