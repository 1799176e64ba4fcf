package pgmeta

import (
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Privileges as lists: what PostgreSQL writes down for an owner who has granted nothing. What the analyst may do, the functions has_..._privilege say.

// letters of an aclitem in PostgreSQL's order, with their words.
var letters = []struct {
	letter byte
	word   string
}{{'a', "INSERT"}, {'r', "SELECT"}, {'w', "UPDATE"}, {'d', "DELETE"}, {'D', "TRUNCATE"}, {'x', "REFERENCES"}, {'t', "TRIGGER"}, {'X', "EXECUTE"}, {'U', "USAGE"}, {'C', "CREATE"},
	{'T', "TEMPORARY"}, {'c', "CONNECT"}, {'s', "SET"}, {'A', "ALTER SYSTEM"}}

// defaults are acldefault's: what all may do, and what the owner may, by the kind of object.
var defaults = map[string][2]string{"c": {}, "r": {"", "arwdDxt"}, "s": {"", "rwU"}, "d": {"Tc", "CTc"}, "f": {"X", "X"}, "l": {"U", "U"}, "L": {"", "rw"}, "n": {"", "UC"}, "p": {"", "sA"},
	"t": {"", "C"}, "F": {"", "U"}, "S": {"", "U"}, "T": {"U", "U"}}

func addPrivileges(add func(name string, f function, args ...int)) {
	add("acldefault", strict(func(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		kind, ok := defaults[a[0].(string)]
		if !ok {
			return nil, sqlerr.New(sqlerr.InvalidParam, "unrecognized object type abbreviation: %s", a[0])
		}
		owner := strconv.FormatInt(a[1].(int64), 10)
		if row := s.object("pg_authid", a[1].(int64)); row != nil {
			owner = aclName(text("pg_authid", row, "rolname"))
		}
		var items []sqltype.Value
		if kind[0] != "" {
			items = append(items, "="+kind[0]+"/"+owner)
		}
		if kind[1] != "" {
			items = append(items, owner+"="+kind[1]+"/"+owner)
		}
		return listOf(oidOfACLItem, items), nil
	}), 2)
	add("aclexplode", function{rows: func(s *Session, a []sqltype.Value, _ []sqltype.Type) (out [][]sqltype.Value, _ error) {
		for _, v := range a[0].(*sqltype.Array).Values {
			item, ok := v.(string)
			if !ok {
				return nil, sqlerr.New(sqlerr.NullValue, "ACL arrays must not contain null values")
			}
			name, rest := aclRole(item)
			rights, by, _ := strings.Cut(strings.TrimPrefix(rest, "="), "/")
			grantor, _ := aclRole(by)
			for _, l := range letters {
				if at := strings.IndexByte(rights, l.letter); at >= 0 {
					out = append(out, []sqltype.Value{s.roleNumber(grantor), s.roleNumber(name), l.word, strings.HasPrefix(rights[at+1:], "*")})
				}
			}
		}
		return out, nil
	}}, 1)
	add("nameconcatoid", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		const most = 63 // bytes of a name
		suffix := "_" + strconv.FormatInt(a[1].(int64), 10)
		name := a[0].(string)
		if len(name)+len(suffix) > most {
			name = strings.ToValidUTF8(name[:most-len(suffix)], "")
		}
		return name + suffix, nil
	}), 2)
}

const oidOfACLItem sqltype.OID = 1033

// aclRole reads such a name from the beginning of a text.
func aclRole(s string) (name, rest string) {
	if !strings.HasPrefix(s, `"`) {
		if at := strings.IndexByte(s, '='); at >= 0 {
			return s[:at], s[at:]
		}
		return s, ""
	}
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			name += s[i : i+1]
			continue
		}
		if i+1 == len(s) || s[i+1] != '"' {
			return name, s[i+1:]
		}
		name += `"`
		i++
	}
	return name, ""
}

// roleNumber is a role's OID: 0 of all, a number that no name has as it is.
func (s *Session) roleNumber(name string) int64 {
	if n, ok := s.named("pg_authid", "rolname", "", name); ok {
		return n
	}
	n, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
