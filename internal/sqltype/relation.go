package sqltype

// Relation is what a database says of one of its tables: what a backend reads from the schema and a policy is checked against.
type Relation struct {
	Schema, Name string
	Kind         RelationKind
	Columns      []RelationColumn
	Keys         [][]string // sets of columns that a constraint (or the check of an opened file) makes unique
	ForeignKeys  []RelationForeignKey
	Comment      string // what the database's own documentation says of it
}

// RelationKind tells a table from what only looks like one.
type RelationKind string

// The kinds that backends report.
const (
	KindTable RelationKind = "table"
	KindView  RelationKind = "view"
	KindOther RelationKind = "other" // foreign tables, partitions' parents, materialized views ...
)

// RelationColumn is one column; NotNull only if a constraint enforces it.
type RelationColumn struct {
	Name    string
	Type    Type
	NotNull bool
	Comment string
}

// RelationForeignKey is a foreign key that the database enforces.
type RelationForeignKey struct {
	Columns             []string
	RefSchema, RefTable string
	RefColumns          []string
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
