package proxy

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/pgmeta"
)

// plain is a value as pg_settings has it: a number in the setting's own unit.
func (p *parameter) plain(v string) string {
	if p.guc == nil || !p.guc.numeric() || slices.Contains(octal, p.name) {
		return v
	}
	x, err := p.guc.read(p, v)
	if err != nil { // what was never set may be outside of what can be
		return v
	}
	return short(x)
}

// shown is what SHOW says of a setting.
func (s *settings) shown(name string) (string, error) {
	if strings.HasPrefix(name, enginePrefix) {
		v, ok, err := s.engine.Show(name)
		if err == nil && !ok {
			err = unknownParameter(name)
		}
		return v, err
	}
	p, err := findParameter(name)
	switch {
	case err != nil:
		return "", err
	case p.guc != nil && p.guc.context == hiddenContext:
		return "", sqlerr.New(sqlerr.Privilege, "must be superuser or have privileges of pg_read_all_settings to examine \"%s\"", p.name)
	case s.of != nil && isMode(name):
		return s.of.mode(name), nil
	}
	return s.get(name), nil
}

// Parameter implements pgmeta.Parameters.
func (s *settings) Parameter(name string) (string, error) { return s.shown(strings.ToLower(name)) }

// source is where a setting's value is from.
func (s *settings) source(name string) string {
	_, local := s.now.local[name]
	_, session := s.now.session[name]
	_, start := s.starts[name]
	switch {
	case isMode(name):
		return "override" // by the transaction
	case local || session:
		return "session"
	case start:
		return "client"
	}
	return "default"
}

// AllParameters implements pgmeta.Parameters: dpsql's settings among PostgreSQL's, by name.
func (s *settings) AllParameters() (out []pgmeta.Parameter) {
	own := s.engine.Settings()
	for _, name := range allNames {
		for len(own) > 0 && own[0].Name < name {
			out, own = append(out, s.ownParameter(own[0])), own[1:]
		}
		v, err := s.shown(name)
		if err != nil || hidden[name] {
			continue
		}
		p := parameters[name]
		reset := p.def
		if slices.Contains(octal, name) || isMode(name) {
			reset = p.facts.boot
		}
		if start, ok := s.starts[name]; ok {
			reset = start
		}
		out = append(out, pgmeta.Parameter{Name: p.name, Value: p.plain(v), Unit: p.facts.unit, Category: p.facts.category, Description: p.about, Extra: p.facts.extra, Context: p.facts.context,
			Kind: p.kind, Source: s.source(name), Least: p.facts.least, Most: p.facts.most, Values: p.values, Boot: p.facts.boot, Reset: p.plain(reset)})
	}
	return out
}

func (s *settings) ownParameter(e session.Setting) pgmeta.Parameter {
	reset, source := e.Start, "default"
	for _, at := range s.startEngine {
		if at.name == e.Name {
			reset, source = strings.Join(at.values, ", "), "client"
		}
	}
	if e.Value != reset {
		source = "session"
	}
	return pgmeta.Parameter{Name: e.Name, Value: e.Value, Category: "dpsql", Description: e.About, Context: "user", Kind: e.Kind, Source: source, Values: e.Values, Boot: e.Start, Reset: reset}
}

// hidden are the settings that SHOW ALL leaves out, as PostgreSQL's does.
var hidden = map[string]bool{"is_superuser": true, "role": true, "session_authorization": true}
