package policy

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// NewAnalyst is one to be written into a policy file.
type NewAnalyst struct {
	Name, Verifier string
	May            []string // as in the policy
}

// AddAnalyst gives a policy's text with one analyst more, as the first of analysts, and every other byte as it was. What comes
// out is a policy: a name that is taken, a table that nobody listed or a mistake that was there before are its problems.
func AddAnalyst(name string, text []byte, a NewAnalyst) ([]byte, error) {
	if _, err := analystsKey(text); errors.Is(err, errNoAnalysts) {
		text = append(bytes.TrimRight(text, "\r\n"), "\nanalysts: {}\n"...)
	}
	p, err := ParseToEdit(name, text)
	if err != nil {
		return nil, err
	}
	if _, taken := p.Analyst(a.Name); taken {
		return nil, fmt.Errorf("%s: there is an analyst %s already. For another password write this into the file, and run dpsql reload:\n  %s: {password: %q, ...}", name, a.Name, quoteYAML(a.Name), a.Verifier)
	}
	at, err := analystsKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	entry := fmt.Sprintf("%s: {password: %q, may: [%s]}", quoteYAML(a.Name), a.Verifier, strings.Join(quoteAll(a.May), ", "))
	lines := bytes.SplitAfter(text, []byte("\n"))
	var added []byte
	if at.flow && at.line <= len(lines) && noAnalysts.Match(lines[at.line-1]) {
		lines[at.line-1] = noAnalysts.ReplaceAll(lines[at.line-1], []byte("analysts:"))
		at = analystsAt{line: at.line, indent: 2}
	}
	switch {
	case at.flow:
		return nil, fmt.Errorf("%s:%d: analysts is written in braces: put this line into it yourself:\n  %s", name, at.line, entry)
	case at.line > len(lines): // its lines end in \r alone
		return nil, fmt.Errorf("%s: the analyst could not be added to this file: put this line under analysts yourself:\n  %s", name, entry)
	default:
		ending := "\n"
		if bytes.HasSuffix(lines[at.line-1], []byte("\r\n")) {
			ending = "\r\n"
		}
		lines[at.line-1] = append(bytes.Clone(lines[at.line-1]), strings.Repeat(" ", at.indent)+entry+ending...)
		added = bytes.Join(lines, nil)
	}
	again, err := ParseToEdit(name, added)
	if err != nil {
		return nil, err
	}
	if _, there := again.Analyst(a.Name); !there || len(again.Analysts) != len(p.Analysts)+1 {
		return nil, fmt.Errorf("%s: the analyst could not be added to this file: put this line under analysts yourself:\n  %s", name, entry)
	}
	return added, nil
}

// noAnalysts is the key with an empty mapping, as init writes it.
var noAnalysts = regexp.MustCompile(`^analysts: *\{ *\}`)

// Retire gives a policy's text with one retired name more, and every other byte as it was.
func Retire(name string, text []byte, analyst string) ([]byte, error) {
	p, err := ParseToEdit(name, text)
	if err != nil {
		return nil, err
	}
	if a, there := p.Analyst(analyst); there {
		return nil, fmt.Errorf("%s:%d: analyst %s is in the policy: take it out there, then retire the name", name, a.at.line, analyst)
	}
	if slices.Contains(p.Retired, analyst) {
		return nil, fmt.Errorf("%s: the name %s is retired already", name, analyst)
	}
	var added []byte
	if p.Retired == nil {
		added = append(bytes.Clone(text), fmt.Sprintf("\nretired: [%s]\n", quoteYAML(analyst))...)
	} else {
		added = retiredList.ReplaceAll(text, []byte("${1}, "+strings.ReplaceAll(quoteYAML(analyst), "$", "$$")+"]"))
	}
	again, err := ParseToEdit(name, added)
	if err != nil || !slices.Equal(again.Retired, append(slices.Clone(p.Retired), analyst)) {
		return nil, fmt.Errorf("%s: the name could not be added to this file: put it into the list retired yourself:\n  retired: [%s]", name, strings.Join(quoteAll(append(p.Retired, analyst)), ", "))
	}
	return added, nil
}

// retiredList is the list as Retire writes it, up to its end.
var retiredList = regexp.MustCompile(`(?m)^(retired: \[[^\]\n#]*[^\]\n# ]) *\]`)

// analystsAt is where the key `analysts` stands.
type analystsAt struct {
	line, indent int
	flow         bool
}

var errNoAnalysts = errors.New("there is no key analysts in block style")

func analystsKey(text []byte) (at analystsAt, err error) {
	f, err := parser.ParseBytes(unixLines(text), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return at, err
	}
	for _, d := range f.Docs {
		m, ok := d.Body.(*ast.MappingNode)
		if !ok {
			continue
		}
		for _, v := range m.Values {
			if v.Key.GetToken().Value != "analysts" {
				continue
			}
			at.line = v.Key.GetToken().Position.Line
			switch n := v.Value.(type) {
			case *ast.MappingNode:
				at.flow = n.IsFlowStyle
				if len(n.Values) > 0 {
					at.indent = n.Values[0].Key.GetToken().Position.Column - 1
				}
			case *ast.MappingValueNode:
				at.indent = n.Key.GetToken().Position.Column - 1
			default:
				at.flow = true
			}
			return at, nil
		}
	}
	return at, errNoAnalysts
}

// quoteYAML quotes what YAML would not read as a plain text.
func quoteYAML(s string) string {
	if plainName(s) && !isBoolLike(s) {
		return s
	}
	return fmt.Sprintf("%q", s)
}

func quoteAll(list []string) (out []string) {
	for _, s := range list {
		parts := strings.Split(s, ".")
		plain := true
		for _, p := range parts {
			plain = plain && plainName(p)
		}
		if plain && !isBoolLike(s) {
			out = append(out, s)
		} else {
			out = append(out, fmt.Sprintf("%q", s))
		}
	}
	return out
}
