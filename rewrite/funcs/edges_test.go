package funcs

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/sqltype"
)

// edges are the values that the tests of all rows run over, as PostgreSQL reads them; NULL is added everywhere.
var edges = map[sqltype.OID][]string{
	sqltype.OIDBool: {"t", "f"},
	sqltype.OIDInt2: {"0", "1", "-1", "2", "7", "-7", "181", "32767", "-32768"},
	sqltype.OIDInt4: {"0", "1", "-1", "3", "-7", "46341", "-46341", "32768", "2147483647", "-2147483648"},
	sqltype.OIDInt8: {"0", "1", "-1", "5", "-7", "3037000500", "-3037000500", "2147483648", "9007199254740993", "9223372036854775807", "-9223372036854775808"},
	sqltype.OIDFloat4: {"0", "-0", "1", "-1", "0.5", "2.5", "-1.5", "0.1", "1e20", "-1e-20", "3.4028235e38", "-3.4028235e38", "1e-45", "-1e-45",
		"16777217", "32767.5", "Infinity", "-Infinity", "NaN"},
	sqltype.OIDFloat8: {"0", "-0", "1", "-1", "0.5", "1.5", "2.5", "-2.5", "0.1", "0.3", "1e15", "123456789012345680", "2147483647.5", "-2147483648.5", "9223372036854775807",
		"-9223372036854775808", "1e150", "1e160", "-1e160", "1e-160", "1e-170", "8.98846567431158e307", "1.7976931348623157e308", "-1.7976931348623157e308", "9.979201547673599e291",
		"4.9e-324", "-4.9e-324", "1e-323", "2.2250738585072014e-308", "3.4028235677973366e38", "3.40282356e38", "7.006492321624085e-46", "7.1e-46", "Infinity", "-Infinity", "NaN"},
	sqltype.OIDNumeric: {"0", "0.00", "1", "-1", "1.10", "0.5", "2.5", "-2.5", "3", "-7", "0.001", "99.995", "-99.995", "100000.00", "32767.5", "32767.4", "2147483647.5", "9223372036854775807.49",
		"9223372036854775808", "-9223372036854775808.5", "12345678901234567890.123456789", "1e-40", "7e25", "1.7976931348623157e308", "1.8e308", "1e-323", "2e-324", "1e-46", "7.1e-46", "3.5e38", "NaN", "Infinity", "-Infinity"},
	sqltype.OIDText:    {"", "a", "A", "ab", "aB ", "Zebra", "%", "a%b", "a\\", "a\\%b", "ü", "Größe", "日本", "_", "%b", "a_", "é"},
	sqltype.OIDVarchar: {"", "a ", "Größe"},
	sqltype.OIDBPChar:  {"", "a", "a  ", "b"},
	sqltype.OIDName:    {"", "a", "B"},
	sqltype.OIDDate:    {"2000-01-01", "1999-12-31", "1970-01-01", "0044-03-15 BC", "4713-01-01 BC", "294276-12-31", "294277-01-01", "5874897-12-31", "infinity", "-infinity"},
	sqltype.OIDTimestamp: {"2000-01-01 00:00:00", "1999-12-31 23:59:59.999999", "1969-12-31 00:00:00.000001", "4713-01-01 00:00:00 BC", "294276-12-31 23:59:59.999999",
		"infinity", "-infinity"},
}

// huge values are for PostgreSQL alone, whose numeric holds them.
var hugeNumerics = []string{"9e1200", "-9e1200", "9e131071", "1e-16383", "-9e131071"}

// results are the types a row is tested with as its result: casts to numeric also with a modifier.
func results(f *Func) []sqltype.Type {
	out := []sqltype.Type{{OID: f.Result, Typmod: -1}}
	if f.Kind == Cast && f.Result == sqltype.OIDNumeric {
		out = append(out, sqltype.NumericOf(5, 2), sqltype.NumericOf(20, 0), sqltype.NumericOf(30, 10))
	}
	return out
}

func types(f *Func) []sqltype.Type {
	out := make([]sqltype.Type, len(f.Args))
	for i, o := range f.Args {
		out[i] = sqltype.Type{OID: o, Typmod: -1}
	}
	return out
}

// signature names a row in messages.
func signature(f *Func, t sqltype.Type) string {
	var args []string
	for _, o := range f.Args {
		args = append(args, sqltype.Type{OID: o, Typmod: -1}.String())
	}
	return fmt.Sprintf("%s %s(%s) -> %s", f.Kind, f.Name, strings.Join(args, ", "), t)
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
