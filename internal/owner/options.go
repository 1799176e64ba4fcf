package owner

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

const (
	backendPostgres = "postgres"
	backendDuckDB   = "duckdb"
	backendFiles    = "files"
)

// urlVariable is the environment variable that a policy names instead of a URL with a password.
const urlVariable = "DPSQL_DATABASE_URL"

// InitOptions say how a first policy is written.
type InitOptions struct {
	Dataset string // the data set's name
	Source  string // the database's own name, where that is another
	Backend string // "postgres", "duckdb" or "files"
	URL     string // URL, file or folder, as the policy shall name it; a URL with a password is replaced by env:DPSQL_DATABASE_URL
	Unit    string // table.column; "": the best of Candidates, or what Merge says
	Merge   []byte // an older policy to bring up to the schema; nil: none
}

// anyUnit stands for a unit that the owner knows.
const anyUnit = "table.column"

// command is init with that unit, as a shell runs it from a comment's line.
func (o InitOptions) command(unit string) string {
	if inComment(unit) != unit {
		unit = anyUnit
	}
	place := "URL"
	switch name, isVariable := strings.CutPrefix(o.URL, "env:"); {
	case isVariable:
		place = `"$` + name + `"`
	case o.Backend == backendPostgres && hasPassword(o.URL):
		place = `"$` + urlVariable + `"`
	case inComment(o.URL) == o.URL:
		place = shellQuoted(o.URL)
	}
	return "dpsql init --backend " + place + " --unit " + shellQuoted(unit)
}

// plainWord is what a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// shellQuoted is a text as one word of a shell.
func shellQuoted(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// hasPassword reports a URL that must not stand in a file; one that cannot be read whole might hide a password.
func hasPassword(text string) bool {
	if strings.HasPrefix(text, "env:") {
		return false
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return true
	}
	query, err := url.ParseQuery(u.RawQuery)
	_, has := u.User.Password()
	return has || err != nil || query.Has("password") || query.Has("sslpassword") || query.Has("passfile")
}

const longestComment = 120

// inComment is a text as part of a one-line comment.
func inComment(s string) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))), " ")
	if r := []rune(s); len(r) > longestComment {
		return string(r[:longestComment]) + "..."
	}
	return s
}
