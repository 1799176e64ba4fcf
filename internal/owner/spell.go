package owner

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dpsql/dpsql/internal/policy"
)

// fillIn stands where only the owner knows; policy.Parse refuses it on its line.
const fillIn = policy.Blank

// reserved words mean something else than themselves to one version of YAML or another.
var reserved = map[string]bool{"null": true, "true": true, "false": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true, "nan": true, "inf": true}

// scalar spells a text as one line of YAML that means it in block and in flow style.
func scalar(s string) string {
	switch {
	case plainScalar(s):
		return s
	case printable(s) && !strings.ContainsAny(s, `\"'`):
		return `"` + s + `"`
	case printable(s):
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x100 && !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\x%02X`, r)
		case r > 0xffff && !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\U%08X`, r)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// plainScalar is stricter than YAML: letters first, then what no reader takes for a sign, a number or a date.
func plainScalar(s string) bool {
	if s == "" || reserved[strings.ToLower(s)] {
		return false
	}
	colon := false
	for i, r := range s {
		switch {
		case unicode.IsLetter(r), i > 0 && (unicode.IsDigit(r) || strings.ContainsRune("_.-/$", r)):
			if colon && i > 0 && s[i-1] == ':' && !unicode.IsLetter(r) && r != '/' {
				return false
			}
		case r == ':' && i > 0 && i < len(s)-1 && strings.HasPrefix(s, "env:") && !colon:
			colon = true
		default:
			return false
		}
	}
	return true
}

func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError || r == '\ufeff' }) < 0
}

// writableName reports a name that a policy can hold.
func writableName(name string) bool {
	return name != "" && len(name) <= policy.LongestName && utf8.ValidString(name) && !strings.ContainsRune(name, 0)
}

func writable(t *table) bool { return writableName(t.rel.Name) && writableName(t.rel.Schema) }
