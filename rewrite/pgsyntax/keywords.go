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

// The keywords of PostgreSQL 17.
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
	unreservedWords = `abort absent absolute access action add admin after aggregate also alter always asensitive assertion assignment at atomic
attach attribute backward before begin breadth by cache call called cascade cascaded catalog chain characteristics
checkpoint class close cluster columns comment comments commit committed compression conditional configuration conflict
connection constraints content continue conversion copy cost csv cube current cursor cycle data database deallocate declare
defaults deferred definer delete delimiter delimiters depends depth detach dictionary disable discard document domain double
drop each empty enable encoding encrypted enum error escape event exclude excluding exclusive execute explain expression
extension external family finalize first following force format forward function functions generated global granted groups
handler header hold identity if immediate immutable implicit import include including increment indent index indexes inherit
inherits inline input insensitive insert instead invoker isolation keep key keys label language large last leakproof level
listen load local location lock locked logged mapping match matched materialized maxvalue merge method minvalue mode move
name names nested new next nfc nfd nfkc nfkd no normalized nothing notify nowait nulls object of off oids old omit operator
option options ordinality others overriding owned owner parallel parameter parser partial partition passing password path
plan plans policy preceding prepare prepared preserve prior privileges procedural procedure procedures program publication
quote quotes range read reassign recheck recursive ref referencing refresh reindex relative release rename repeatable
replace replica reset restart restrict return returns revoke role rollback rollup routine routines rows rule savepoint
scalar schema schemas scroll search security sequence sequences serializable server session set sets share show simple skip
snapshot source sql stable standalone start statement statistics stdin stdout storage stored strict string strip
subscription support sysid system tables tablespace target temp template temporary text ties transaction transform trigger
truncate trusted type types uescape unbounded uncommitted unconditional unencrypted unknown unlisten unlogged until update
vacuum valid validate validator value version view views volatile whitespace work wrapper write xml yes zone`
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
		colName: colNameWords, unreserved: unreservedWords + " " + asLabelUnreserved} {
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

// endsItem says whether a token can only stand behind an entry of a select list.
func (t *token) endsItem() bool {
	switch {
	case t.kind == tEnd, t.punct(","), t.punct(")"):
		return true
	case t.kind == tWord:
		switch t.text {
		case "from", "where", "group", "having", "window", "union", "intersect", "except", "order", "limit", "offset", "fetch", "for", "into":
			return true
		}
	}
	return false
}

func (t *token) class() wordClass { return wordClasses[t.text] }

// NeedsQuotes reports a word that PostgreSQL writes in quotes where it is a name, because it is a keyword in some places.
func NeedsQuotes(word string) bool {
	c := wordClasses[word]
	return c != plainWord && c != unreserved
}
