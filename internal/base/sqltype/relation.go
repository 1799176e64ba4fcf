package sqltype

// Relation is what a database says of one of its tables: what a backend reads from the schema and a policy is checked against.
type Relation struct {
	Schema, Name string
	Kind         RelationKind
	Comment      string
	Partitioned  bool // a table of declared partitions, whose keys and foreign keys bind the rows of all of them
	Columns      []RelationColumn
	Keys         [][]string // sets of columns that a constraint (or the check of an opened file) makes unique
	ForeignKeys  []RelationForeignKey
	Checks       []RelationCheck
	Unenforced   []Unenforced    // what looks like a key or foreign key and was not taken
	Reader       string          // PostgreSQL: the connected role, as SQL spells it
	RowSecurity  string          // PostgreSQL: the role, as SQL spells it, from which row-level security hides rows: the connected one, or a view's owner
	PartOf       []QualifiedName // tables that give this one's rows too: it is their partition, or inherits from them
	View         *ViewFacts      // of views and materialized views, where the backend can tell
	Definition   string          // of views and materialized views: what their rows are, with the views and functions below
}

// QualifiedName names a relation of the database.
type QualifiedName struct{ Schema, Name string }

// RelationKind tells a table from what only looks like one.
type RelationKind string

// The kinds that backends report.
const (
	KindTable   RelationKind = "table" // partitioned ones too, where each partition is a plain table
	KindView    RelationKind = "view"
	KindMatView RelationKind = "materialized view"
	KindForeign RelationKind = "foreign table" // or a table with a foreign partition: nothing that it says is enforced
	KindOther   RelationKind = "other"         // such as tables with inheriting children, whose rows no constraint binds
)

// RelationColumn is one column; NotNull only if a constraint enforces it.
type RelationColumn struct {
	Name    string
	Type    Type
	List    Type // what DuckDB's list of numbers is read as, where its shape is declared; its Type is unknown
	NotNull bool
	Comment string
	Denied  bool   // the connected role may not read it
	Collate bool   // PostgreSQL: its collation is its own, neither the database's nor "C"
	TextBy  TextBy // PostgreSQL, of a type that is not readable: what can keep its text in a column beside it; "" if nothing known
	// Definition is what its values mean beside their type: which column of the table it is, its collation, what it is computed from.
	Definition string
}

// TextBy is what can keep a column's text in a column beside it.
type TextBy string

// The ways to keep a text.
const (
	TextByGenerated TextBy = "generated" // GENERATED ALWAYS AS (...::text) STORED, as the cast is immutable
	TextByTrigger   TextBy = "trigger"
)

// RelationForeignKey is a foreign key that the database enforces. A Partial one leads to a partition of the table that was
// named: rows may refer to its sisters, and a foreign key to the whole table is told too.
type RelationForeignKey struct {
	Columns             []string
	RefSchema, RefTable string
	RefColumns          []string
	Partial             bool
}

// RelationCheck is a constraint that the database holds for all rows, as an SQL expression: true or unknown in each of them.
type RelationCheck struct {
	Expr   string
	Column string // of a domain's constraint: the column that VALUE stands for
}

// Unenforced is a key or foreign key that the schema shows but that rows may break. A foreign key still tells to whom its
// rows may refer.
type Unenforced struct {
	Kind                UnenforcedKind
	Name                string
	Columns             []string // without an index's expressions
	RefSchema, RefTable string   // of a foreign key
	RefColumns          []string
	Reason              string // a clause: "it is deferrable"
}

// UnenforcedKind says what is not enforced.
type UnenforcedKind string

// The kinds of what may not be enforced.
const (
	UnenforcedKey        UnenforcedKind = "key"
	UnenforcedForeignKey UnenforcedKind = "foreign key"
)

// ViewFacts is what a view's definition says. A simple view gives, for each row of one table, that row's columns and
// values computed from that row alone, or nothing; no such value can fail. Its relation has the table's foreign keys (also
// those on columns that it does not show, under a name that none of its columns has), and the keys whose columns it shows.
type ViewFacts struct {
	Simple      bool
	Why         string            // it is not simple
	Base        QualifiedName     // of a simple view: the table at the bottom
	BaseColumns map[string]string // of a simple view: its columns that are plain columns of the base
	Reads       []QualifiedName   // relations whose rows it may give, through views, partitions and inheritance
	Volatile    []string          // functions and the like that are not immutable, also in the views below
	Opaque      []string          // functions of users, which may read what is not in Reads
}

// Column finds a column by name.
func (r *Relation) Column(name string) (RelationColumn, bool) {
	for _, c := range r.Columns {
		if c.Name == name {
			return c, true
		}
	}
	return RelationColumn{}, false
}

// BaseColumn is the name by which foreign keys know a column: that of the table below a simple view.
func (r *Relation) BaseColumn(name string) string {
	if r.View == nil || !r.View.Simple {
		return name
	}
	return r.View.BaseColumns[name] // "" for a computed one, which no foreign key names
}
