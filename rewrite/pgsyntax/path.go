package pgsyntax

import "strings"

// SplitPath reads a list of names as search_path has them (SplitIdentifierString): false for what is none.
func SplitPath(s string) (names []string, ok bool) {
	rest := strings.TrimSpace(s)
	for rest != "" {
		name := ""
		if strings.HasPrefix(rest, `"`) {
			rest = rest[1:]
			for {
				head, tail, closed := strings.Cut(rest, `"`)
				if !closed {
					return nil, false
				}
				name, rest = name+head, tail
				if !strings.HasPrefix(rest, `"`) {
					break
				}
				name, rest = name+`"`, rest[1:] // two quotes are one of the name
			}
		} else {
			end := strings.IndexAny(rest, ", \t\n\r\f\v")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return nil, false
			}
			name, rest = strings.ToLower(rest[:end]), rest[end:]
		}
		names = append(names, name)
		if rest = strings.TrimSpace(rest); rest == "" {
			break
		}
		after, comma := strings.CutPrefix(rest, ",")
		if rest = strings.TrimSpace(after); !comma || rest == "" {
			return nil, false
		}
	}
	return names, true
}
