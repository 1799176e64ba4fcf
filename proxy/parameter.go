package proxy

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
)

// parameter is one setting that PostgreSQL has and clients use. check reads the values of a SET and gives the canonical one.
// Where dpsql has no other behaviour than the default, check refuses all else by name.
type parameter struct {
	name     string // as PostgreSQL spells it
	def      string
	about    string
	check    func(p *parameter, list []string) (string, error)
	merge    func(p *parameter, list []string, now string) (string, error) // check of a setting that may be set in part
	reported bool                                                          // clients are told by ParameterStatus
	fixed    bool                                                          // cannot be set at all
}

// parameters by lower-case name; allNames and reportedNames are sorted as SHOW ALL and the start-up are.
var (
	parameters    = map[string]*parameter{}
	allNames      []string
	reportedNames []string
)

func init() {
	for i := range parameterTable {
		p := &parameterTable[i]
		key := strings.ToLower(p.name)
		parameters[key] = p
		allNames = append(allNames, key)
		if p.reported {
			reportedNames = append(reportedNames, key)
		}
	}
	slices.Sort(allNames)
	slices.Sort(reportedNames)
}

var parameterTable = []parameter{
	{name: "application_name", about: "The name that the client gives itself.", check: applicationName, reported: true},
	{name: "array_nulls", def: "on", about: "NULL in array input.", check: onlyBool},
	{name: "backslash_quote", def: "safe_encoding", about: "Whether \\' is a quote in strings.", check: onlyDefault},
	{name: "bytea_output", def: "hex", about: "The form of bytea.", check: byteaOutput},
	{name: "client_encoding", def: "UTF8", about: "The client's character set.", check: clientEncoding, reported: true},
	{name: "client_min_messages", def: "notice", about: "The least level of messages that the client is sent.", check: minMessages},
	{name: "DateStyle", def: "ISO, MDY", about: "The form of dates and times.", merge: dateStyle, reported: true},
	{name: "default_transaction_deferrable", def: "off", about: "Whether new transactions are deferrable.", check: anyBool},
	{name: "default_transaction_isolation", def: "read committed", about: "The isolation level of new transactions.", check: isolation},
	{name: "default_transaction_read_only", def: "off", about: "Whether new transactions are read-only.", check: anyBool, reported: true},
	{name: "escape_string_warning", def: "on", about: "Warnings of backslashes in strings.", check: anyBool},
	{name: "extra_float_digits", def: "1", about: "The digits of floats beyond 15 (real: 6); from 1 on they are exact.", check: floatDigits},
	{name: "idle_in_transaction_session_timeout", def: "0", about: "The time that a transaction may idle.", check: onlyDefault},
	{name: "in_hot_standby", def: "off", about: "Whether the server is a standby.", fixed: true, check: refused, reported: true},
	{name: "integer_datetimes", def: "on", about: "Whether timestamps are integers.", fixed: true, check: refused, reported: true},
	{name: "IntervalStyle", def: "postgres", about: "The form of intervals.", check: intervalStyle, reported: true},
	{name: "is_superuser", def: "off", about: "Whether the user is a superuser.", fixed: true, check: refused, reported: true},
	{name: "lc_collate", def: "C", about: "The order of texts.", fixed: true, check: refused},
	{name: "lc_ctype", def: "C", about: "The classes of characters.", fixed: true, check: refused},
	{name: "lc_messages", def: "C", about: "The language of messages.", check: onlyDefault},
	{name: "lc_monetary", def: "C", about: "The form of money.", check: onlyDefault},
	{name: "lc_numeric", def: "C", about: "The form of numbers.", check: onlyDefault},
	{name: "lc_time", def: "C", about: "The names of days and months.", check: onlyDefault},
	{name: "lock_timeout", def: "0", about: "The time to wait for locks.", check: onlyDefault},
	{name: "max_identifier_length", def: "63", about: "The length of names.", fixed: true, check: refused},
	{name: "role", def: "none", about: "The role in force.", check: onlyDefault},
	{name: "row_security", def: "on", about: "Row security.", check: onlyBool},
	{name: "search_path", def: `"$user", public`, about: "The schemas of unqualified names.", check: searchPath},
	{name: "server_encoding", def: "UTF8", about: "The server's character set.", fixed: true, check: refused, reported: true},
	{name: "server_version", def: sqltype.ServerVersion, about: "The version of PostgreSQL that is spoken.", fixed: true, check: refused, reported: true},
	{name: "server_version_num", def: "150018", about: "The version as a number.", fixed: true, check: refused},
	{name: "session_authorization", about: "The user of the session.", fixed: true, check: refused, reported: true},
	{name: "ssl", def: "off", about: "Whether TLS is offered.", fixed: true, check: refused},
	{name: "standard_conforming_strings", def: "on", about: "Backslashes in strings are plain characters.", check: onlyBool, reported: true},
	{name: "statement_timeout", def: "0", about: "The client's own limit on a statement; the policy's holds in any case.", check: onlyDefault},
	{name: "TimeZone", def: "UTC", about: "The time zone of the session.", check: timeZone, reported: true},
	{name: modeDeferrable, about: "Whether the transaction is deferrable.", check: anyBool},
	{name: modeIsolation, about: "The isolation level of the transaction.", check: isolation},
	{name: modeReadOnly, about: "Whether the transaction is read-only.", check: anyBool},
	{name: "xmloption", def: "content", about: "How XML is read.", check: onlyDefault},
}

// findParameter finds a setting by its lower-case name.
func findParameter(name string) (*parameter, error) {
	if p, ok := parameters[name]; ok {
		return p, nil
	}
	return nil, unknownParameter(name)
}

// read gives the canonical value of a SET.
func (p *parameter) read(list []string, now string) (string, error) {
	if p.merge != nil {
		return p.merge(p, list, now)
	}
	return p.check(p, list)
}

func one(p *parameter, list []string) (string, error) {
	if len(list) != 1 {
		return "", sqlerr.New(sqlerr.InvalidParam, "SET %s takes only one argument", p.name)
	}
	return list[0], nil
}

// otherwise refuses a value that PostgreSQL may know and dpsql does not.
func otherwise(p *parameter, v string) error {
	return sqlerr.New(sqlerr.Unsupported, "setting \"%s\" to \"%s\" is not supported", p.name, v).
		WithHint("The value here is \"%s\".", p.def)
}

func refused(p *parameter, _ []string) (string, error) { return "", cannotChange(p) }

func onlyDefault(p *parameter, list []string) (string, error) {
	v, err := one(p, list)
	if err == nil && !strings.EqualFold(v, p.def) {
		err = otherwise(p, v)
	}
	return p.def, err
}

func anyBool(p *parameter, list []string) (string, error) {
	v, err := one(p, list)
	if err != nil {
		return "", err
	}
	b, err := sqltype.ParseText(v, sqltype.Bool)
	if err != nil {
		return "", sqlerr.New(sqlerr.InvalidParam, "parameter \"%s\" requires a Boolean value", p.name)
	}
	if b == true {
		return "on", nil
	}
	return "off", nil
}

func onlyBool(p *parameter, list []string) (string, error) {
	v, err := anyBool(p, list)
	if err == nil && v != p.def {
		err = otherwise(p, v)
	}
	return v, err
}

func choice(p *parameter, v string, values ...string) (string, error) {
	if low := strings.ToLower(v); slices.Contains(values, low) {
		return low, nil
	}
	return "", sqlerr.New(sqlerr.InvalidParam, "invalid value for parameter \"%s\": \"%s\"", strings.ToLower(p.name), v).
		WithHint("Available values: %s.", strings.Join(values, ", "))
}

func isolation(p *parameter, list []string) (string, error) {
	v, err := one(p, list)
	if err != nil {
		return "", err
	}
	return choice(p, v, "serializable", "repeatable read", "read committed", "read uncommitted")
}

func minMessages(p *parameter, list []string) (string, error) {
	v, err := one(p, list)
	if err != nil {
		return "", err
	}
	if strings.EqualFold(v, "debug") {
		v = "debug2"
	}
	return choice(p, v, "debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error")
}

// applicationName keeps printable ASCII, as PostgreSQL does, and the length of a name.
func applicationName(p *parameter, list []string) (string, error) {
	v, err := one(p, list)
	b := []byte(v)
	for i, c := range b {
		if c < 32 || c > 126 {
			b[i] = '?'
		}
	}
	return string(b[:min(len(b), 63)]), err
}

// maxSearchPath bounds what a savepoint keeps of a value. There are three names to take.
const maxSearchPath = 10

// searchPath takes paths that lead to the published tables first: public, with or without "$user" and pg_catalog.
func searchPath(p *parameter, list []string) (string, error) {
	if len(list) == 1 { // of the start-up packet, or one name
		list = strings.Split(list[0], ",")
	}
	if len(list) > maxSearchPath {
		return "", sqlerr.New(sqlerr.InvalidParam, "search_path can name %d schemas", maxSearchPath)
	}
	found := false
	shown := make([]string, len(list))
	for i, name := range list {
		name = strings.Trim(strings.TrimSpace(name), `"`)
		if !slices.Contains([]string{"public", "$user", "pg_catalog"}, name) {
			return "", otherwise(p, strings.Join(list, ", "))
		}
		found = found || name == "public"
		if shown[i] = name; name == "$user" {
			shown[i] = `"$user"`
		}
	}
	if !found {
		return "", otherwise(p, strings.Join(list, ", "))
	}
	return strings.Join(shown, ", "), nil
}
