package pgsyntax

// The statements of DP models, which are dpsql's own.

// Train is TRAIN DP MODEL, also as CREATE [OR REPLACE] DP MODEL.
type Train struct {
	Pos     Pos
	Replace bool
	Name    Word
	Model   Word     // behind USING
	Args    []Option // of the model, in brackets
	Method  Word     // its text is empty for none
	Target  Word
	With    []Option // SPLIT 0.8 is the option split = 0.8
	Query   *Select
}

// Evaluate is EVALUATE DP MODEL name [SPLIT part] [WITH (...)] [GROUP BY column, ...] ON query.
type Evaluate struct {
	Pos   Pos
	Owner Word // its text is empty for none
	Name  Word
	With  []Option
	By    []Word // columns of the query
	Query *Select
}

// Models is a statement about stored models: Verb is SHOW, DESCRIBE, DROP, RENAME, GRANT, REVOKE or EXPORT.
type Models struct {
	Pos      Pos
	Verb     string
	Owner    Word // its text is empty for none
	Name     Word
	IfExists bool
	To       Word // the new name, or who gets it; or the form of EXPORT
}

// Word is a name as it is meant, and where it stands.
type Word struct {
	Pos  Pos
	Text string
}

// Option is name = value, or a list of values in brackets.
type Option struct {
	Name   Word
	Values []Word
	List   bool
}

func (*Train) node()    {}
func (*Evaluate) node() {}
func (*Models) node()   {}

// Watch is CREATE DP WATCH name AS query THRESHOLD n [EVERY 'interval'] [TIMES n] [WITH (...)].
type Watch struct {
	Pos       Pos
	Name      Word
	Query     *Select
	Threshold Word
	Every     Word // its text is empty for none
	Times     Word // its text is empty for none
	With      []Option
}

// DropWatch is DROP DP WATCH [IF EXISTS] name.
type DropWatch struct {
	Pos      Pos
	Name     Word
	IfExists bool
}

func (*Watch) node()     {}
func (*DropWatch) node() {}
