package proxy

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// parameter is one setting that PostgreSQL has and clients use. check reads the values of a SET and gives the canonical one.
// Where dpsql has no other behaviour than the default, check refuses all else by name.
type parameter struct {
	name     string // as PostgreSQL spells it
	def      string
	about    string   // PostgreSQL's
	kind     string   // of its values, as pg_settings.vartype has it
	values   []string // of an enumeration
	check    func(p *parameter, list []string) (string, error)
	text     func(p *parameter, text string) (string, error)               // check of what the start-up packet and set_config have, where it is not read as SET's one value is
	merge    func(p *parameter, list []string, now string) (string, error) // check of a setting that may be set in part
	reported bool                                                          // clients are told by ParameterStatus
	fixed    bool                                                          // cannot be set at all
	guc      *guc                                                          // of those without effect
	facts    facts
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
		p.kind = "string"
		key := strings.ToLower(p.name)
		parameters[key] = p
		allNames = append(allNames, key)
		if p.reported {
			reportedNames = append(reportedNames, key)
		}
	}
	loadSettings()
	slices.Sort(allNames)
	slices.Sort(reportedNames)
}

var parameterTable = []parameter{
	{name: "application_name", check: applicationName, reported: true},
	{name: "array_nulls", def: "on", check: onlyBool},
	{name: "backslash_quote", def: "safe_encoding", check: onlyDefault},
	{name: "bytea_output", def: "hex", check: byteaOutput},
	{name: "client_encoding", def: "UTF8", check: clientEncoding, reported: true},
	{name: "client_min_messages", def: "notice", check: minMessages},
	{name: "DateStyle", def: "ISO, MDY", merge: dateStyle, reported: true},
	{name: "default_transaction_deferrable", def: "off", check: anyBool},
	{name: "default_transaction_isolation", def: "read committed", check: isolation},
	{name: "default_transaction_read_only", def: "off", check: anyBool, reported: true},
	{name: "escape_string_warning", def: "on", check: anyBool},
	{name: "extra_float_digits", def: "1", check: floatDigits},
	{name: "data_directory_mode", def: "0700", fixed: true, check: refused},
	{name: "in_hot_standby", def: "off", fixed: true, check: refused, reported: true},
	{name: "integer_datetimes", def: "on", fixed: true, check: refused, reported: true},
	{name: "IntervalStyle", def: "postgres", check: intervalStyle, reported: true},
	{name: "is_superuser", def: "off", about: "Whether the user is a superuser.", fixed: true, check: refused, reported: true},
	{name: "lc_collate", def: "C", fixed: true, check: refused},
	{name: "lc_ctype", def: "C", fixed: true, check: refused},
	{name: "lc_messages", def: "C", check: onlyDefault},
	{name: "lc_monetary", def: "C", check: onlyDefault},
	{name: "lc_numeric", def: "C", check: onlyDefault},
	{name: "lc_time", def: "C", check: onlyDefault},
	{name: "max_identifier_length", def: "63", fixed: true, check: refused},
	{name: "max_index_keys", def: "32", about: "The columns of an index.", fixed: true, check: refused},
	{name: "role", def: "none", about: "The role in force.", check: noRole},
	{name: "row_security", def: "on", check: onlyBool},
	{name: "search_path", def: `"$user", public`, check: searchPath, text: pathText},
	{name: "server_encoding", def: "UTF8", fixed: true, check: refused, reported: true},
	{name: "server_version", def: sqltype.ServerVersion, fixed: true, check: refused, reported: true},
	{name: "server_version_num", def: "150018", fixed: true, check: refused},
	{name: "session_authorization", about: "The user of the session.", merge: sameUser, reported: true},
	{name: "ssl", def: "off", fixed: true, check: refused},
	{name: "standard_conforming_strings", def: "on", check: onlyBool, reported: true},
	{name: "TimeZone", def: "UTC", check: timeZone, reported: true},
	{name: modeDeferrable, check: anyBool},
	{name: modeIsolation, check: isolation},
	{name: modeReadOnly, check: anyBool},
	{name: "default_table_access_method", def: "heap", check: onlyDefault},
	{name: "default_tablespace", check: onlyDefault},
	{name: "default_text_search_config", def: "pg_catalog.simple", check: onlyDefault},
	{name: "exit_on_error", def: "off", check: onlyBool},
	{name: "local_preload_libraries", check: onlyDefault},
	{name: "quote_all_identifiers", def: "off", check: onlyBool},
	{name: "restrict_nonsystem_relation_kind", check: onlyDefault},
	{name: "timezone_abbreviations", def: "Default", check: onlyDefault},
	{name: "temp_tablespaces", check: onlyDefault},
	{name: "transform_null_equals", def: "off", check: onlyBool},
	{name: "xmlbinary", def: "base64", check: onlyDefault},
	{name: "xmloption", def: "content", check: onlyDefault},
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

// readText is read of the start-up packet's and set_config's text.
func (p *parameter) readText(text, now string) (string, error) {
	if p.text != nil {
		return p.text(p, text)
	}
	return p.read([]string{text}, now)
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

// sameUser takes the user that the session has.
func sameUser(p *parameter, list []string, now string) (string, error) {
	v, err := one(p, list)
	if err == nil && v != now {
		err = sqlerr.New(sqlerr.Privilege, "permission denied to set session authorization")
	}
	return now, err
}

func onlyDefault(p *parameter, list []string) (string, error) {
	v, err := one(p, list)
	if err == nil && !strings.EqualFold(v, p.def) {
		err = otherwise(p, v)
	}
	return p.def, err
}

// noRole takes SET ROLE NONE alone: an analyst has the rights of the user of the session.
func noRole(p *parameter, list []string) (string, error) {
	v, err := one(p, list)
	if err == nil && !strings.EqualFold(v, p.def) {
		err = sqlerr.New(sqlerr.Unsupported, "SET ROLE %s is not supported: an analyst has no other roles", v).WithHint("Connect as another analyst, or write SET ROLE NONE.")
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

// What a savepoint keeps of a path is bounded.
const maxSearchPath = 4096

// searchPath takes SET's names, each one as it is; a name that no schema has is passed over, as in PostgreSQL.
func searchPath(p *parameter, list []string) (string, error) {
	shown := make([]string, len(list))
	for i, name := range list {
		shown[i] = pgsyntax.QuoteIdent(name)
	}
	return pathText(p, strings.Join(shown, ", "))
}

// pathText takes the text of a path, and keeps it as it is given.
func pathText(p *parameter, text string) (string, error) {
	if len(text) > maxSearchPath {
		return "", sqlerr.New(sqlerr.InvalidParam, "search_path can have %d characters", maxSearchPath)
	}
	if _, ok := pgsyntax.SplitPath(text); !ok {
		return "", invalidValue(p, text).WithDetail("List syntax is invalid.")
	}
	return text, nil
}

func unknownParameter(name string) error {
	err := sqlerr.New(sqlerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", name)
	if near := sqlerr.Nearest(name, allNames); near != "" {
		err = err.WithHint("Perhaps you meant %s.", near)
	}
	return err
}

func cannotChange(p *parameter) error {
	if p.guc != nil {
		switch p.guc.context {
		case "postmaster":
			return sqlerr.New(sqlerr.CantChangeParam, "parameter \"%s\" cannot be changed without restarting the server", p.name)
		case "sighup":
			return sqlerr.New(sqlerr.CantChangeParam, "parameter \"%s\" cannot be changed now", p.name)
		case "backend":
			return sqlerr.New(sqlerr.CantChangeParam, "parameter \"%s\" cannot be set after connection start", p.name)
		case "superuser", "superuser-backend", hiddenContext:
			return sqlerr.New(sqlerr.Privilege, "permission denied to set parameter \"%s\"", p.name)
		}
	}
	return sqlerr.New(sqlerr.CantChangeParam, "parameter \"%s\" cannot be changed", p.name)
}

// The modes of a transaction, as settings.
const (
	modeIsolation  = "transaction_isolation"
	modeReadOnly   = "transaction_read_only"
	modeDeferrable = "transaction_deferrable"
)

func isMode(name string) bool {
	return name == modeIsolation || name == modeReadOnly || name == modeDeferrable
}
