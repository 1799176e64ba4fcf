package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Policy is a policy file as it was read: defaults filled in, names resolved within the file, not yet checked against a
// database. Numbers mean the float64 nearest to what is written. Relative paths are relative to the file's folder.
type Policy struct {
	Name    string // the file, for messages
	Dataset string // also the database name that clients connect to
	// DataVersion is the owner's word that the data do not change before it does; "": they may change at any time.
	DataVersion string
	People      string // policies over the same people share one ledger and lifetime; = Dataset by default
	// Population is the declared number of units; where the owner says none, Units assumes one.
	Population Populations
	Backend    Backend

	Unit       dp.Unit    // "patients.patient_id", as written; of several kinds all of them, for messages
	unitTable  *tableDecl // the first kind's
	unitColumn word
	kinds      []unitDecl   // one, or those of units
	tables     []*tableDecl // in the file's order

	Budget    Budget
	Query     Query
	Roles     []Role     // those with a budget, in the file's order
	Analysts  []*Analyst // in the file's order
	Retired   []string   // names that no analyst gets any more
	Ledger    Ledger
	Cache     Cache
	Listen    string // host:port; loopback only without TLS
	TLS       *TLS   // nil: none
	Balancers Balancers
	// ScramIterations is the count of analysts' verifiers. Users who do not exist are shown it, whoever is added.
	ScramIterations int
	Limits          Limits
	Preview         string // what a statement for rows of people shows: PreviewNone, PreviewSchema or PreviewMock
	Metrics         string // host:port of /metrics and /healthz; "" is none
	Audit           string // file of the audit log, or "none"
	Console         string // host:port of the page for browsers; "" is none
	Socket          string // Unix socket of the owner's commands, or "none"
}

// What a statement for rows of people shows.
const (
	PreviewNone   = "none"   // it is refused
	PreviewSchema = "schema" // its columns, without rows
	PreviewMock   = "mock"   // rows that are made up from the policy
)

// Which joins of private tables are answered.
const (
	JoinsOnUnit = "on_unit" // those whose rows are of one unit each
	JoinsAny    = "any"     // also those of rows of two units, at what one of them may change there
)

// Backend is the database of people: exactly one of Postgres, DuckDB and Files is set.
type Backend struct {
	Postgres string // connection string
	DuckDB   string // path of the database file
	Files    string // folder of CSV and Parquet files
	Settings map[string]string
}

// Budget is what the data set's analysts may spend together in one window, or for ever.
type Budget struct {
	Epsilon, Delta float64
	Accountant     string  // "rdp" or "pure"
	Per            string  // one of Windows; "": one window for ever
	Lifetime       float64 // epsilon of all windows, and of all policies over the same people; 0: no limit, on purpose
}

// Query is what one statement costs and how it is bounded, where the session says nothing else.
type Query struct {
	Epsilon         float64
	Delta           float64 // of one statement that selects groups
	Mechanism       string  // "auto", or one of dp.Mechanisms
	Bounding        string  // "linf", "l2" or "auto"; of rows joined off the unit "elastic" or "truncate"
	Joins           string  // JoinsOnUnit or JoinsAny
	MaxGroups       uint64  // groups to which one unit contributes (L0); 0: chosen by each statement
	MaxPublicGroups int
	MinPeople       int64 // groups whose noisy number of people is less are not shown; 0: none
}

// Analyst is one who may connect.
type Analyst struct {
	Name            string
	Verifier        string   // SCRAM-SHA-256 verifier in PostgreSQL's form; "" where none is needed and none was given
	Epsilon         float64  // of the data set's budget: a quota
	Roles           []Role   // those with a budget, by name: each statement counts against all of them too
	OtherRoles      []string // those without one, by name
	MaxQueryEpsilon float64
	may             []grant
	at              position
}

// Role is a group of analysts who have a budget together: a quota too.
type Role struct {
	Name    string
	Epsilon float64
	at      position
}

// Ledger is where the budget is kept: exactly one of SQLite and Postgres is set.
type Ledger struct {
	SQLite   string // path of the file
	Postgres string // connection string; several servers may share it
	Shared   string // <people>.ledger: beside which the mark of one in PostgreSQL lies
	Beside   string // the path beside which this machine keeps the ledger's mark: the file's, or <people>.ledger
}

// Cache says how long and to whom stored releases are shown again.
type Cache struct {
	TTL   time.Duration
	Scope string // "data_set" or "analyst"
	Key   Secret // encrypts what is stored: 32 bytes; "": nothing is encrypted
}

// Secret is never printed.
type Secret string

// String says whether there is one.
func (s Secret) String() string {
	if s == "" {
		return "none"
	}
	return "(secret)"
}

// GoString hides it too.
func (s Secret) GoString() string { return s.String() }

// RelationName names a table for a backend; an empty schema is the backend's default one.
type RelationName struct{ Schema, Name string }

// Relations lists the tables that the policy names, for the backend to describe.
func (p *Policy) Relations() []RelationName {
	out := make([]RelationName, len(p.tables))
	for i, t := range p.tables {
		out[i] = RelationName{t.schema, t.name}
	}
	return out
}

// UnitColumns are the units' columns, each with its schema.
func (p *Policy) UnitColumns() (out []string) {
	for _, k := range p.kinds {
		schema := k.table.schema
		if schema == "" {
			schema = p.defaultSchema()
		}
		out = append(out, qualified(schema, k.table.name, k.column.text))
	}
	return out
}

// Populations are about how many units there are, a public fact: one number, or one of each kind. The zero value says none.
type Populations struct {
	one  uint64 // of all kinds alike: where there are several, of the one that has fewest
	each map[dp.Unit]uint64
	text string // of each, in the order of units
}

// String is what the epoch of stored releases has of it: of one kind the number, however the policy spells it.
func (p Populations) String() string {
	if p.each != nil {
		return p.text
	}
	return fmt.Sprint(p.one)
}

// Of is the number of one kind; 0: the owner says none.
func (p Populations) Of(u dp.Unit) uint64 {
	if p.each == nil {
		return p.one
	}
	return p.each[u]
}

// MostOf is the largest number of these kinds.
func (p Populations) MostOf(units dp.Units) uint64 {
	most := uint64(0)
	for _, u := range units {
		most = max(most, p.Of(u))
	}
	return most
}

// Listed is a relation that is read, and its columns that are; no columns are all.
type Listed struct {
	RelationName
	Columns []string
}

// Listed are the policy's relations with what is read of each: listed columns, and those on the way to the unit.
func (p *Policy) Listed() []Listed {
	columns := map[*tableDecl][]string{}
	read := func(t *tableDecl, names ...string) {
		for _, n := range names {
			if !t.allColumns && !slices.Contains(columns[t], n) {
				columns[t] = append(columns[t], n)
			}
		}
	}
	for _, t := range p.tables {
		for _, c := range t.columns {
			read(t, c.name.text)
			if c.from != nil {
				read(c.from.table, c.from.column)
			}
		}
		for _, path := range t.paths() {
			read(t, path.columns...)
			read(path.parent, path.parentColumns...)
		}
		read(t, t.fallbackColumns...)
	}
	for _, k := range p.kinds {
		read(k.table, k.column.text)
	}
	out := make([]Listed, len(p.tables))
	for i, name := range p.Relations() {
		out[i] = Listed{name, columns[p.tables[i]]}
	}
	return out
}

// Analyst finds an analyst by name.
func (p *Policy) Analyst(name string) (*Analyst, bool) {
	for _, a := range p.Analysts {
		if a.Name == name {
			return a, true
		}
	}
	return nil, false
}

// HasRole says whether a role with a budget has this name.
func (p *Policy) HasRole(name string) bool {
	return slices.ContainsFunc(p.Roles, func(r Role) bool { return r.Name == name })
}

// defaultSchema is the schema of names that are written without one.
func (p *Policy) defaultSchema() string {
	if p.Backend.Postgres != "" {
		return "public"
	}
	return "main"
}

// unitDecl is one kind of units.
type unitDecl struct {
	unit   dp.Unit
	table  *tableDecl
	column word
}

// rootOf is the kind whose own table this is, or nil.
func (p *Policy) rootOf(t *tableDecl) *unitDecl {
	for i := range p.kinds {
		if p.kinds[i].table == t {
			return &p.kinds[i]
		}
	}
	return nil
}

// tableDecl is one table of the file. schema is empty where the backend's default schema is meant.
type tableDecl struct {
	at              position
	schema, name    string
	public          bool
	pathGiven       bool // the key is there, whatever it says
	path            *pathDecl
	fallbackColumns []string // of unit: coalesce(column, ...), the columns after the first, that name a unit where that leads to no person
	fallbackAt      position
	also            []*pathDecl // further units that its rows belong to
	isAstray        bool        // a way of its own is refused: it says nothing of whose the rows are
	unprotected     bool        // second ways to a unit are not protected, whichever
	file            string      // of the files backend; "": the table's name
	key             word        // of the files backend: columns that the opening checks to be unique
	keyColumns      []string
	maxRows         uint64   // 0: chosen by each statement
	maxRowsAt       position // set by auto too
	withoutUnit     word     // rows_without_unit: withoutOwn, withoutDrop, or "" for drop
	frequencies     []frequencyDecl
	columns         []*columnDecl
	allColumns      bool // a public table that lists none: all are visible
}

func (t *tableDecl) String() string { return qualified(t.schema, t.name) }

func (t *tableDecl) column(name string) *columnDecl {
	for _, c := range t.columns {
		if c.name.text == name {
			return c
		}
	}
	return nil
}

// paths are all ways to units that the file gives.
func (t *tableDecl) paths() []*pathDecl {
	if t.path == nil {
		return t.also
	}
	return append([]*pathDecl{t.path}, t.also...)
}

// pathDecl is "columns -> parent.columns".
type pathDecl struct {
	at            position
	columns       []string
	parent        *tableDecl
	parentColumns []string
}

// columnDecl is one column of the file.
type columnDecl struct {
	name        word
	lo, hi      *decimal.Decimal // nil: automatic where the type allows
	first, last string           // the ends of a range of dates or timestamps, instead
	rangeAt     position         // set by auto too
	step        *decimal.Decimal
	stepAt      position
	shape       []int // of an array
	shapeAt     position
	values      []valueDecl
	valuesAt    position
	hasValues   bool
	from        *fromDecl
	nullAt      *position // where NULL is listed beside it
	description string
	unprotected bool
	typeName    word // of the files backend
	notNull     bool // of the files backend: checked when opened
}

// valueDecl is one value of a domain, as text.
type valueDecl struct {
	word
	null bool
}

// fromDecl is a domain taken from a public table.
type fromDecl struct {
	at     position
	table  *tableDecl
	column string
}

// grant is one entry of an analyst's `may`: a table, or one of its columns.
type grant struct {
	at     position
	table  *tableDecl
	column string // "" = all
}

// Limits are what clients may use. They protect the proxy and other sessions; none of them is about privacy. A zero IdleTime is
// no limit.
type Limits struct {
	Message            int64         // bytes of one message of the wire protocol
	Sessions           int64         // at once
	SessionsPerAnalyst int64         // at once
	PreparedStatements int64         // of one session
	Portals            int64         // of one session
	StatementMemory    int64         // bytes of one session's prepared statements and portals
	AnswerMemory       int64         // bytes of answers that one session's portals hold unread
	AllAnswerMemory    int64         // of those that all sessions do
	WaitingLogins      int64         // connections of one address that have not logged in
	LoginTime          time.Duration // from accept to the end of authentication
	IdleTime           time.Duration // of a session without a statement
	WriteTime          time.Duration // for a client that does not read
	StatementTime      time.Duration // of one statement
	StopTime           time.Duration // for running statements when the server stops
	ReleaseGroups      int64         // groups of one stored release
	ReleaseBytes       int64         // of one stored release
	StoredBytes        int64         // of an analyst's stored releases and models
	SpoolGroups        int64         // groups of a release that memory holds
	FinishingMemory    int64         // bytes of released rows that are held at once, where they come from disk
	PublicRows         int64         // of an answer over public tables
	BackendConnections int64         // to PostgreSQL; 0 is pgx's own choice
	StatementsAtOnce   int64         // of one analyst that read the database
	FlowMemory         int64         // bytes that the pairs of rows of two people take in memory, of all statements
	TrainingMemory     int64         // bytes of a training's rows in memory
	TrainingDisk       int64         // bytes of them on disk
}

// TLS names the files of the server's certificate (PEM, with its chain) and private key, and says what clients' certificates are for.
type TLS struct {
	Cert, Key  string
	ClientCA   string // file of the authorities that sign clients' certificates; "": none is asked for
	ClientCert string // one of ClientCerts; "" without ClientCA
	ClientName string // one of ClientNames, where a certificate must be the analyst's; else ""
}

// Balancers are the TCP balancers before the proxy, through which clients come.
type Balancers struct {
	Addresses []netip.Prefix
	Header    bool // each of their connections begins with a header of the PROXY protocol, version 2
	at        position
}

// frequencyDecl says how many rows of a table with one value of the columns count in a join on them.
type frequencyDecl struct {
	at      position // of the number
	columns []word
	most    uint64
}

func (d frequencyDecl) String() string {
	names := make([]string, len(d.columns))
	for i, c := range d.columns {
		names[i] = quoteName(c.text)
	}
	if len(names) == 1 {
		return names[0]
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// same reports one set of columns.
func (d frequencyDecl) same(o frequencyDecl) bool {
	has := func(c word) bool {
		return slices.ContainsFunc(o.columns, func(x word) bool { return x.text == c.text })
	}
	return len(d.columns) == len(o.columns) && !slices.ContainsFunc(d.columns, func(c word) bool { return !has(c) })
}

// arrow spells a path as a policy does.
func arrow(columns []string, parent *tableDecl, of []string) string {
	list := func(names []string) string {
		var out []string
		for _, n := range names {
			out = append(out, quoteName(n))
		}
		if len(out) == 1 {
			return out[0]
		}
		return "(" + strings.Join(out, ", ") + ")"
	}
	return fmt.Sprintf("%s -> %s.%s", list(columns), parent, list(of))
}

// coalesced spells a way with further columns, as unit has it.
func coalesced(way string, others []string) string {
	if len(others) == 0 {
		return way
	}
	columns, to, arrow := strings.Cut(way, " -> ")
	for _, c := range others {
		columns += ", " + quoteName(c)
	}
	if columns = "coalesce(" + columns + ")"; arrow {
		columns += " -> " + to
	}
	return columns
}
