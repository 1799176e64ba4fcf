package pgsyntax

import "strings"

// ident quotes a name if it must be.
func ident(s string) string {
	if s == "" || wordClasses[s] == plainWord && isNameStart(s[0]) && foldName(s) == s && isPlainName(s) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

func isPlainName(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isName(s[i]) {
			return false
		}
	}
	return true
}
