package pgsyntax

import "strings"

// SplitPath reads a list of names as search_path has them (SplitIdentifierString): folded, and cut as names are; false for what is none.
func SplitPath(s string) (names []string, ok bool) {
	const space = " \t\n\r\f"
	rest := strings.Trim(s, space)
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
			end := strings.IndexAny(rest, ","+space)
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return nil, false
			}
			name, rest = foldName(rest[:end]), rest[end:]
		}
		names = append(names, cutName(name))
		if rest = strings.Trim(rest, space); rest == "" {
			break
		}
		after, comma := strings.CutPrefix(rest, ",")
		if rest = strings.Trim(after, space); !comma || rest == "" {
			return nil, false
		}
	}
	return names, true
}
