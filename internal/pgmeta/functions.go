package pgmeta

import (
	"errors"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// The functions of the catalogs, by name and number of arguments. All are strict but where it is said.

// visibility is pg_..._is_visible: NULL where there is no such object.
func visibility(table, name, schema string) function {
	return strict(func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
		row := s.object(table, a[0].(int64))
		if row == nil {
			return nil, nil
		}
		return s.visible(table, name, schema, row), nil
	})
}

func init() {
	functions = map[signature]function{}
	add := func(name string, f function, args ...int) {
		for _, n := range args {
			functions[signature{name, n}] = f
		}
	}
	for _, v := range [][4]string{
		{"pg_table_is_visible", "pg_class", "relname", "relnamespace"}, {"pg_type_is_visible", "pg_type", "typname", "typnamespace"},
		{"pg_function_is_visible", "pg_proc", "proname", "pronamespace"}, {"pg_operator_is_visible", "pg_operator", "oprname", "oprnamespace"},
		{"pg_opclass_is_visible", "pg_opclass", "opcname", "opcnamespace"}, {"pg_opfamily_is_visible", "pg_opfamily", "opfname", "opfnamespace"},
		{"pg_collation_is_visible", "pg_collation", "collname", "collnamespace"}, {"pg_conversion_is_visible", "pg_conversion", "conname", "connamespace"},
		{"pg_ts_config_is_visible", "pg_ts_config", "cfgname", "cfgnamespace"}, {"pg_ts_dict_is_visible", "pg_ts_dict", "dictname", "dictnamespace"},
		{"pg_ts_parser_is_visible", "pg_ts_parser", "prsname", "prsnamespace"}, {"pg_ts_template_is_visible", "pg_ts_template", "tmplname", "tmplnamespace"},
		{"pg_statistics_obj_is_visible", "pg_statistic_ext", "stxname", "stxnamespace"},
	} {
		add(v[0], visibility(v[1], v[2], v[3]), 1)
	}
	addMay(add)
	addSizes(add)
	addHeld(add)
	addIndexProperties(add)
	for _, name := range []string{"pg_get_triggerdef", "pg_get_ruledef", "pg_get_partkeydef",
		"pg_get_statisticsobjdef_columns", "pg_get_statisticsobjdef", "pg_get_statisticsobjdef_expressions", "pg_get_partition_constraintdef",
		"pg_sequence_last_value", "pg_relation_filenode", "pg_relation_filepath", "shobj_description", "pg_tablespace_location", "pg_collation_actual_version",
		"pg_column_compression", "inet_server_addr", "inet_server_port", "pg_current_logfile"} {
		add(name, constant(nil), 0, 1, 2, 3)
	}
	add("pg_tablespace_location", strict(func(*Session, []sqltype.Value, []sqltype.Type) (sqltype.Value, error) { return "", nil }), 1)
	for _, name := range []string{"pg_relation_is_publishable", "pg_is_in_recovery", "pg_is_wal_replay_paused", "pg_is_other_temp_schema"} {
		add(name, constant(false), 0, 1)
	}
	add("pg_relation_is_updatable", strict(func(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		return s.updatable(a[0].(int64)), nil
	}), 2)
	add("pg_column_is_updatable", strict(func(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		return a[1].(int64) > 0 && s.updatable(a[0].(int64)) == everyEvent, nil
	}), 3)
	add("oidvectortypes", strict(func(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		return strings.Join(s.typesOf(a[0]), ", "), nil
	}), 1)
	add("pg_my_temp_schema", constant(int64(0)), 0)
	add("pg_backend_pid", strict(func(s *Session, _ []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) { return s.pid(), nil }), 0)
	add("pg_advisory_unlock_all", constant(""), 0)
	add("pg_jit_available", constant(false), 0)
	for _, name := range []string{"pg_listening_channels", "pg_partition_ancestors", "pg_partition_tree", "pg_options_to_table", "pg_event_trigger_ddl_commands", "pg_show_all_file_settings",
		"pg_get_publication_tables", "pg_inherited"} {
		add(name, noRows, 0, 1)
	}
	add("pg_get_userbyid", strict(func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
		if row := s.object("pg_authid", a[0].(int64)); row != nil {
			return text("pg_authid", row, "rolname"), nil
		}
		return "unknown (OID=" + strconv.FormatInt(a[0].(int64), 10) + ")", nil
	}), 1)
	add("format_type", function{onNull: true, eval: func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
		if a[0] == nil {
			return nil, nil
		}
		mod, given := a[1].(int64)
		if !given {
			mod = -1
		}
		return s.formatType(a[0].(int64), mod, given), nil
	}}, 2)
	add("pg_get_constraintdef", strict(constraintDef), 1, 2)
	add("pg_get_indexdef", strict(indexDef), 1, 3)
	add("pg_get_function_arguments", strict(func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
		return s.arguments(a[0].(int64), true)
	}), 1)
	add("pg_get_function_identity_arguments", strict(func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
		return s.arguments(a[0].(int64), false)
	}), 1)
	add("pg_get_function_arg_default", strict(argDefault), 2)
	add("pg_get_function_result", strict(functionResult), 1)
	add("obj_description", strict(describe), 1, 2)
	add("col_description", strict(func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
		return s.described(a[0].(int64), oidOfClass, a[1].(int64)), nil
	}), 2)
	add("pg_encoding_to_char", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		if n := a[0].(int64); n >= 0 && n < int64(len(encodings)) {
			return encodings[n], nil
		}
		return "", nil
	}), 1)
	add("pg_char_to_encoding", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		for n, name := range encodings {
			if plain := strings.NewReplacer("-", "", "_", ""); strings.EqualFold(plain.Replace(name), plain.Replace(a[0].(string))) {
				return int64(n), nil
			}
		}
		return int64(-1), nil
	}), 1)
	add("current_schemas", strict(func(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		names := s.onPath()
		if a[0] == true {
			names = s.Path()
		}
		list := make([]sqltype.Value, len(names))
		for i, name := range names {
			list[i] = name
		}
		return listOf(sqltype.OIDName, list), nil
	}), 1)
	add("current_setting", strict(currentSetting), 1, 2)
	add("set_config", function{onNull: true, eval: setConfig}, 3)
	add("quote_ident", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		return quoteIdent(a[0].(string)), nil
	}), 1)
	literal := func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
		if a[0] == nil {
			return "NULL", nil
		}
		if yes, ok := a[0].(bool); ok { // it is a cast to text, which has whole words
			return quoteLiteral(strconv.FormatBool(yes)), nil
		}
		text, err := s.text(a[0], t[0])
		return quoteLiteral(text), err
	}
	add("quote_literal", strict(literal), 1)
	add("quote_nullable", function{onNull: true, eval: literal}, 1)
	add("parse_ident", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		path, err := identifiers(a[0].(string))
		list := make([]sqltype.Value, len(path))
		for i, p := range path {
			list[i] = p
		}
		return listOf(sqltype.OIDText, list), err
	}), 1, 2)
	add("pg_size_pretty", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		return sizePretty(a[0])
	}), 1)
	for name, of := range map[string]sqltype.OID{"to_regclass": sqltype.OIDRegclass, "to_regtype": sqltype.OIDRegtype, "to_regnamespace": sqltype.OIDRegnamespace,
		"to_regrole": sqltype.OIDRegrole, "to_regproc": sqltype.OIDRegproc, "to_regprocedure": sqltype.OIDRegprocedure} {
		add(name, strict(func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
			n, err := s.objectNamed(sqltype.Type{OID: of, Typmod: -1}, a[0].(string))
			if err != nil {
				return nil, nil //nolint:nilerr // what nothing has is NULL
			}
			return n, nil
		}), 1)
	}
	add("pg_typeof", function{onNull: true, eval: func(_ *Session, _ []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
		return int64(t[0].OID), nil
	}}, 1)
	add("getdatabaseencoding", constant("UTF8"), 0)
	add("format", function{onNull: true, eval: format}, anyNumber)
	addJSON(add)
	add("pg_sleep", strict(sleep), 1)
	addDefinitions(add)
	addSets(add)
	addActivity(add)
	addPrivileges(add)
	addDescribe(add)
}

// encodings are PostgreSQL's, by their numbers.
var encodings = strings.Fields(`SQL_ASCII EUC_JP EUC_CN EUC_KR EUC_TW EUC_JIS_2004 UTF8 MULE_INTERNAL LATIN1 LATIN2 LATIN3 LATIN4 LATIN5 LATIN6 LATIN7 LATIN8 LATIN9 LATIN10 WIN1256 WIN1258 WIN866 WIN874
	KOI8R WIN1251 WIN1252 ISO_8859_5 ISO_8859_6 ISO_8859_7 ISO_8859_8 WIN1250 WIN1253 WIN1254 WIN1255 WIN1257 KOI8U SJIS BIG5 GBK UHC GB18030 JOHAB SHIFT_JIS_2004`)

// sizePretty is pg_size_pretty: half-rounded steps of 1024.
func sizePretty(v sqltype.Value) (sqltype.Value, error) {
	n, ok := v.(int64)
	if !ok {
		return nil, sqlerr.New(sqlerr.Unsupported, "pg_size_pretty of numeric is not supported")
	}
	abs := func(n int64) int64 { return max(n, -n) }
	units := []string{"bytes", "kB", "MB", "GB", "TB", "PB"}
	i := 0
	for half := int64(10 * 1024); i < len(units)-1 && abs(n) >= half; i++ {
		if i == 0 {
			n, half = n/512, 20*1024-1
		} else {
			n /= 1024
		}
	}
	if i > 0 {
		n = (n + n/max(abs(n), 1)) / 2
	}
	return strconv.FormatInt(n, 10) + " " + units[i], nil
}

func currentSetting(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
	name := a[0].(string)
	v, err := s.parameter(name)
	var e *sqlerr.Error
	if errors.As(err, &e) && e.Code == sqlerr.UndefinedObject.Code && len(a) > 1 && a[1] == true {
		return nil, nil
	}
	return v, err
}

func setConfig(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
	name, ok := a[0].(string)
	if !ok {
		return nil, sqlerr.New(sqlerr.NullValue, "SET requires parameter name")
	}
	if s.Parameters == nil {
		return nil, sqlerr.New(sqlerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", name)
	}
	value, _ := a[1].(string)
	if err := s.Parameters.SetParameter(name, value, a[2] == true); err != nil {
		return nil, err
	}
	return s.parameter(name)
}

// everyEvent has PostgreSQL's bits of UPDATE, INSERT and DELETE.
const everyEvent int64 = 1<<2 | 1<<3 | 1<<4

// updatable tells of a relation's nature, as information_schema's is_updatable does: a table is. What the analyst may do tells has_table_privilege.
func (s *Session) updatable(rel int64) int64 {
	if row := s.object("pg_class", rel); row != nil && text("pg_class", row, "relkind") == "r" {
		return everyEvent
	}
	return 0
}
