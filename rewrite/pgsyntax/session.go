package pgsyntax

// The statements that are not queries. They are read by a small grammar of their own on the same lexer.

// Empty is an empty query (also one of comments only).
type Empty struct{}

// Explain is EXPLAIN [ (options) ] query. Options are lower-cased names with their values as written.
type Explain struct {
	Pos     Pos
	Options map[string]string
	Query   Node
}

// Set is SET [SESSION|LOCAL] name = value. Default is SET name TO DEFAULT. Names are lower-cased; SET TIME ZONE is
// "timezone", SET NAMES is "client_encoding", SET TRANSACTION / SESSION CHARACTERISTICS is a SetTransaction.
type Set struct {
	Pos     Pos
	Name    string
	Values  []string // several for a list (DateStyle = 'ISO', 'MDY')
	Default bool
	Local   bool

	Interval bool // SET TIME ZONE INTERVAL '+01:00' HOUR TO MINUTE: Values holds '+01:00'
}

// SetTransaction is SET TRANSACTION or SET SESSION CHARACTERISTICS AS TRANSACTION, modes upper-cased.
type SetTransaction struct {
	Modes   []string
	Session bool
}

// Reset is RESET name, or RESET ALL with All.
type Reset struct {
	Name string
	All  bool
}

// Show is SHOW name, or SHOW ALL with All.
type Show struct {
	Pos  Pos
	Name string
	All  bool
}

// Begin is BEGIN or START TRANSACTION with its modes, upper-cased.
type Begin struct {
	Start bool // START TRANSACTION: its command tag differs
	Modes []string
}

// Commit is COMMIT or END.
type Commit struct{ Chain bool }

// Rollback is ROLLBACK or ABORT; To is the savepoint of ROLLBACK TO.
type Rollback struct {
	To    string
	Chain bool
}

// Savepoint is SAVEPOINT name.
type Savepoint struct{ Name string }

// Release is RELEASE [SAVEPOINT] name.
type Release struct{ Name string }

// Deallocate is DEALLOCATE [PREPARE] name | ALL.
type Deallocate struct {
	Name string
	All  bool
}

// Discard is DISCARD ALL | PLANS | SEQUENCES | TEMP.
type Discard struct{ What string }

// CloseCursor is CLOSE name | ALL.
type CloseCursor struct {
	Name string
	All  bool
}

// Span is where a query stands in the message's text: [First, End).
type Span struct{ First, End Pos }

// DeclareCursor is DECLARE name [options] CURSOR [WITH|WITHOUT HOLD] FOR query.
type DeclareCursor struct {
	Pos                     Pos
	Name                    string
	Hold                    bool
	Scroll, NoScroll        bool // neither: as the server likes it
	Binary                  bool
	Insensitive, Asensitive bool
	Query                   *Select
	At                      Span // of the query
}

// Fetch is FETCH (or MOVE) [direction] [FROM|IN] name; Count < 0 is ALL, but with ABSOLUTE and RELATIVE, which
// count from the end and backward. Direction is "NEXT", "FORWARD", "BACKWARD", "PRIOR",
// "FIRST", "LAST", "ABSOLUTE", "RELATIVE".
type Fetch struct {
	Move      bool
	Direction string
	Count     int64
	Name      string
}

// Listen is LISTEN name.
type Listen struct{ Name string }

// Unlisten is UNLISTEN name, or UNLISTEN * with All.
type Unlisten struct {
	Name string
	All  bool
}

// SetConstraints is SET CONSTRAINTS ALL.
type SetConstraints struct{ Deferred bool }

// Other is a statement that is refused by its Verb, the command in upper case ("INSERT", "CREATE TABLE", "TRAIN"). Read is what our
// grammar read of it: a *Copy, *Prepare or *Execute; the rest of any other is passed over.
type Other struct {
	Pos  Pos
	Verb string
	Read Node
}

// Copy is COPY table or (query) TO STDOUT, a file or a program.
type Copy struct {
	Query         *Select
	At            Span       // of the query
	Table         *TableName // with the columns that were named, without an alias
	File, Program string
	Options       []CopyOption
}

// CopyOption is an option of COPY, by its name of today; no value is true.
type CopyOption struct {
	Pos    Pos
	Name   string
	Values []string
	List   bool // of names in brackets, or of the old form
}

// Prepare is PREPARE name (types) AS query.
type Prepare struct {
	Name  string
	Types []TypeName
	Query *Select
	At    Span // of the query
}

// Execute is EXECUTE name (arguments).
type Execute struct {
	Name string
	Args []Expr
}

func (*Empty) node()          {}
func (*Explain) node()        {}
func (*Set) node()            {}
func (*SetTransaction) node() {}
func (*Reset) node()          {}
func (*Show) node()           {}
func (*Begin) node()          {}
func (*Commit) node()         {}
func (*Rollback) node()       {}
func (*Savepoint) node()      {}
func (*Release) node()        {}
func (*Deallocate) node()     {}
func (*Discard) node()        {}
func (*CloseCursor) node()    {}
func (*DeclareCursor) node()  {}
func (*Fetch) node()          {}
func (*Listen) node()         {}
func (*Unlisten) node()       {}
func (*SetConstraints) node() {}
func (*Other) node()          {}
func (*Copy) node()           {}
func (*Prepare) node()        {}
func (*Execute) node()        {}
