package funcs

import (
	"crypto/md5" //nolint:gosec // PostgreSQL's md5()
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"math"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

const blob = sqltype.OIDBytea

// binaryFunctions has those of bytea, and the hashes.
func binaryFunctions() []*Func {
	var out []*Func
	add := func(kind Kind, name string, args []sqltype.OID, result sqltype.OID, maybe bool, f forms, eval evalFunc) *Func {
		r := row(kind, name, args, result, maybe, f).eval(eval)
		if !r.MayBeNull {
			r.Safe = harmless
		}
		out = append(out, r)
		return r
	}
	length := of1(func(b sqltype.Bytes) (sqltype.Value, error) { return int64(len(b)), nil })
	for _, name := range []string{"length", "octet_length"} {
		add(Function, name, oids(blob), i4, false, forms{pg: name + "({x})", duck: "CAST(octet_length({x}) AS INTEGER)"}, length).within(always(0, math.MaxInt32))
	}
	add(Function, "bit_length", oids(blob), i4, true, forms{pg: "bit_length(CASE WHEN octet_length({x}) < 268435456 THEN {x} END)", duck: "CAST(CASE WHEN octet_length({x}) < 268435456 THEN octet_length({x}) * 8 END AS INTEGER)"},
		of1(func(b sqltype.Bytes) (sqltype.Value, error) { return int64(len(b)) * 8, nil })).within(always(0, math.MaxInt32))
	for _, name := range []string{"substr", "substring"} {
		add(Function, name, oids(blob, i4), blob, false, forms{pg: name + "({x}, {y})", duck: "array_slice({x}, greatest({y}, 1), octet_length({x}))", lax: true},
			of2(func(b sqltype.Bytes, at int64) (sqltype.Value, error) { return sliceBytes(b, at, toEnd), nil }))
		add(Function, name, oids(blob, i4, i4), blob, true, forms{pg: name + "({x}, {y}, CASE WHEN {z} >= 0 THEN {z} END)", own: name + "({x}, {y}, {z})",
			duck: "CASE WHEN {z} >= 0 THEN array_slice({x}, greatest({y}, 1), greatest(least(CAST({y} AS BIGINT) + {z} - 1, octet_length({x})), 0)) END", lax: true},
			of3(func(b sqltype.Bytes, at, n int64) (sqltype.Value, error) {
				if n < 0 {
					return nil, sqlerr.New(sqlerr.SubstringError, "negative substring length not allowed")
				}
				return sliceBytes(b, at, n), nil
			}))
	}
	add(Operator, "||", oids(blob, blob), blob, true, forms{pg: "{x} || {y}", duck: "CAST({x} || {y} AS BLOB)"}, // NULL where it is long (sqlgen)
		of2(func(a, b sqltype.Bytes) (sqltype.Value, error) { return a + b, nil }))
	add(Function, "get_byte", oids(blob, i4), i4, true, forms{pg: "CASE WHEN {y} >= 0 AND {y} < octet_length({x}) THEN get_byte({x}, {y}) END",
		own:  "get_byte({x}, {y})",
		duck: "CASE WHEN {y} >= 0 AND {y} < octet_length({x}) THEN CAST('0x' || hex(array_slice({x}, CAST({y} AS BIGINT) + 1, CAST({y} AS BIGINT) + 1)) AS INTEGER) END"},
		of2(func(b sqltype.Bytes, at int64) (sqltype.Value, error) {
			if at < 0 || at >= int64(len(b)) {
				return nil, sqlerr.New(sqlerr.ArraySubscript, "index %d out of valid range, 0..%d", at, len(b)-1)
			}
			return int64(b[at]), nil
		})).within(always(0, 255))
	out = append(out, encoding("encode"), encoding("decode"))
	for _, h := range []struct {
		name string
		sum  func([]byte) []byte
	}{
		{"sha224", func(b []byte) []byte { s := sha256.Sum224(b); return s[:] }},
		{"sha256", func(b []byte) []byte { s := sha256.Sum256(b); return s[:] }},
		{"sha384", func(b []byte) []byte { s := sha512.Sum384(b); return s[:] }},
		{"sha512", func(b []byte) []byte { s := sha512.Sum512(b); return s[:] }},
	} {
		out = append(out, row(Function, h.name, oids(blob), blob, false, forms{why: HashesPublicOnly}).
			eval(of1(func(b sqltype.Bytes) (sqltype.Value, error) { return sqltype.Bytes(h.sum([]byte(b))), nil })))
	}
	return append(out, row(Function, "md5", oids(blob), text, false, forms{why: HashesPublicOnly}).
		eval(of1(func(b sqltype.Bytes) (sqltype.Value, error) {
			s := md5.Sum([]byte(b)) //nolint:gosec // PostgreSQL's md5()
			return hex.EncodeToString(s[:]), nil
		})))
}

// sliceBytes are n bytes from the one at, counted from 1; those before the first are passed over.
func sliceBytes(b sqltype.Bytes, at, n int64) sqltype.Bytes {
	end := int64(len(b)) + 1
	if n != toEnd {
		end = min(end, at+n)
	}
	if at = max(at, 1); end <= at {
		return ""
	}
	return b[at-1 : end-1]
}

// encoding is encode or decode, of hex and base64.
func encoding(name string) *Func {
	args, result := oids(blob, text), text
	if name == "decode" {
		args, result = oids(text, text), blob
	}
	f := &Func{Name: name, Kind: Function, Args: args, Result: result, MayBeNull: true, Const: []int{1}}
	f.With = func(c Constants) (*Func, error) {
		form := strings.ToLower(c.Values[0].(string))
		fm := forms{own: name + "({x}, " + quoted(form) + ")"}
		var eval evalFunc
		// decode's patterns have no repetition inside of a repetition but for one of fixed length.
		switch name + " " + form {
		case "encode hex":
			fm.duck = "lower(hex({x}))"
			eval = of1(func(b sqltype.Bytes) (sqltype.Value, error) { return hex.EncodeToString([]byte(b)), nil })
		case "encode base64": // PostgreSQL breaks lines after 76 characters
			fm.duck = `rtrim(regexp_replace(base64({x}), '(.{76})', '\1' || chr(10), 'g'), chr(10))`
			eval = of1(func(b sqltype.Bytes) (sqltype.Value, error) { return encode64([]byte(b)), nil })
		case "decode hex":
			const pattern = `([ \n\t\r]*[0-9a-fA-F]{2})*[ \n\t\r]*`
			fm.pg = "CASE WHEN {x} ~ " + quoted("^"+pattern+"$") + " THEN " + fm.own + " END"
			fm.duck = "CASE WHEN regexp_full_match({x}, '" + pattern + "') THEN unhex(replace(replace(replace(replace({x}, ' ', ''), chr(10), ''), chr(9), ''), chr(13), '')) END"
			eval = of1(func(s string) (sqltype.Value, error) {
				return sqltype.ParseText(`\x`+s, sqltype.Bytea)
			})
		case "decode base64":
			const pattern = "([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
			bare := "replace(replace(replace(replace({x}, ' ', ''), chr(10), ''), chr(9), ''), chr(13), '')"
			fm.pg = "CASE WHEN translate({x}, E' \\n\\t\\r', '') ~ '^" + pattern + "$' THEN " + fm.own + " END"
			fm.duck = "CASE WHEN regexp_full_match(" + bare + ", '" + pattern + "') THEN from_base64(" + bare + ") END"
			eval = of1(func(s string) (sqltype.Value, error) {
				b, err := base64.StdEncoding.DecodeString(strings.NewReplacer(" ", "", "\n", "", "\t", "", "\r", "").Replace(s))
				switch {
				case err != nil && strings.Contains(s, "="):
					return nil, sqlerr.New(sqlerr.InvalidParam, "decode reads base64 with = at its end alone here")
				case err != nil:
					return nil, sqlerr.New(sqlerr.InvalidParam, "invalid base64 sequence")
				}
				return sqltype.Bytes(b), nil
			})
		default:
			return nil, sqlerr.New(sqlerr.Unsupported, "the encoding %q is not supported", form).WithHint("Use hex or base64.")
		}
		if name == "encode" {
			fm.pg = "CASE WHEN octet_length({x}) <= " + most + " THEN " + fm.own + " END"
			fm.duck = "CASE WHEN octet_length({x}) <= " + most + " THEN " + fm.duck + " END"
		}
		g := row(Function, name, args, result, true, fm).eval(eval)
		g.Const = f.Const
		if name+" "+form == "decode base64" {
			g.leaves = []Gap{rare("base64 with = before its end")}
		}
		return g, nil
	}
	return f
}

func encode64(b []byte) string {
	s := base64.StdEncoding.EncodeToString(b)
	var out strings.Builder
	for len(s) > 76 {
		out.WriteString(s[:76] + "\n")
		s = s[76:]
	}
	return out.String() + s
}
