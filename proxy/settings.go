package proxy

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/session"
)

// enginePrefix begins the names of the engine's own settings.
const enginePrefix = "dpsql."

// settings are one session's. A name's value is that of SET LOCAL, else of SET, else of the start-up packet, else the default.
type settings struct {
	engine      Session
	starts      map[string]string
	startEngine []engineSetting
	now         values
	zone        *sqltype.Zone // of TimeZone, once it was asked for
	pid         uint32        // of the session, as BackendKeyData tells it
	of          *connection
}

// values are what transactions roll back. Its maps are never written to, only replaced, so that a snapshot is a copy of it.
type values struct {
	session map[string]string
	local   map[string]string
	// The engine knows no SET LOCAL: the first keeps what the engine had, and the end of the transaction puts that back.
	engineBase  any
	engineLocal []engineSetting
}

type engineSetting struct {
	name   string
	values []string
}

// snapshot is what restore puts back: ours and the engine's.
type snapshot struct {
	values values
	engine any
}

func newSettings(user string, e Session) *settings {
	return &settings{engine: e, starts: map[string]string{"session_authorization": user}}
}

// BackendPID is what pg_backend_pid gives.
func (s *settings) BackendPID() uint32 { return s.pid }

func (s *settings) snapshot() snapshot { return snapshot{s.now, s.engine.Snapshot()} }

func (s *settings) restore(at snapshot) {
	s.now = at.values
	s.engine.Restore(at.engine)
}

// endLocal ends SET LOCAL's values: the transaction was committed.
func (s *settings) endLocal() {
	s.now.local = nil
	if s.now.engineBase != nil {
		s.engine.Restore(s.now.engineBase)
		s.now.engineBase, s.now.engineLocal = nil, nil
	}
}

// get is a setting's value; the caller knows that it exists.
func (s *settings) get(name string) string { return s.getAt(&s.now, name) }

// getAt is its value when the values were those of at.
func (s *settings) getAt(at *values, name string) string {
	for _, m := range []map[string]string{at.local, at.session, s.starts} {
		if v, ok := m[name]; ok {
			return v
		}
	}
	return parameters[name].def
}

// start applies a setting of the start-up packet. RESET comes back to it.
func (s *settings) start(name, value string) error {
	if strings.HasPrefix(name, enginePrefix) {
		if err := s.engine.Set(name, []string{value}); err != nil {
			return err
		}
		s.startEngine = append(s.startEngine, engineSetting{session.SettingName(name), []string{value}})
		return nil
	}
	p, err := findParameter(name)
	if err != nil {
		return err
	}
	v, err := p.readText(value, s.get(name))
	if err != nil {
		return err
	}
	s.starts[name] = v
	return nil
}

// assign is SET and SET LOCAL.
func (s *settings) assign(name string, list []string, local bool) error {
	if strings.HasPrefix(name, enginePrefix) {
		return s.assignEngine(engineSetting{session.SettingName(name), list}, local)
	}
	p, err := findParameter(name)
	if err != nil {
		return err
	}
	v, err := p.read(list, s.get(name))
	if err != nil {
		return err
	}
	s.put(name, v, local)
	return nil
}

func (s *settings) put(name, v string, local bool) {
	if local {
		s.now.local = with(s.now.local, name, v)
		return
	}
	s.now.local = without(s.now.local, name) // SET after SET LOCAL is what counts
	s.now.session = with(s.now.session, name, v)
}

func with(m map[string]string, name, v string) map[string]string {
	next := make(map[string]string, len(m)+1)
	maps.Copy(next, m)
	next[name] = v
	return next
}

func without(m map[string]string, name string) map[string]string {
	if _, ok := m[name]; !ok {
		return m
	}
	next := maps.Clone(m)
	delete(next, name)
	return next
}

func (s *settings) assignEngine(set engineSetting, local bool) error {
	switch {
	case local:
		base := s.now.engineBase
		if base == nil {
			base = s.engine.Snapshot()
		}
		if err := s.engine.Set(set.name, set.values); err != nil {
			return err
		}
		s.now.engineBase = base
		s.now.engineLocal = append(s.now.engineLocal[:len(s.now.engineLocal):len(s.now.engineLocal)], set)
		return nil
	case s.now.engineBase == nil:
		return s.engine.Set(set.name, set.values)
	}
	return s.underLocal(set.name, func() error { return s.engine.Set(set.name, set.values) })
}

// underLocal changes the engine's setting of the session while SET LOCAL's are in force: under them, and instead of that of
// the same name.
func (s *settings) underLocal(name string, change func() error) error {
	before := s.engine.Snapshot()
	s.engine.Restore(s.now.engineBase)
	if err := change(); err != nil {
		s.engine.Restore(before)
		return err
	}
	base := s.engine.Snapshot()
	var kept []engineSetting
	for _, l := range s.now.engineLocal {
		if l.name == name {
			continue
		}
		if err := s.engine.Set(l.name, l.values); err != nil {
			s.engine.Restore(before)
			return err
		}
		kept = append(kept, l)
	}
	s.now.engineBase, s.now.engineLocal = base, kept
	return nil
}

// reset is RESET name and SET name TO DEFAULT.
func (s *settings) reset(name string, local bool) error {
	if strings.HasPrefix(name, enginePrefix) {
		return s.resetEngine(session.SettingName(name), local)
	}
	p, err := findParameter(name)
	if err != nil {
		return err
	}
	if p.fixed {
		return cannotChange(p)
	}
	v, ok := s.starts[name]
	if !ok {
		v = p.def
	}
	s.put(name, v, local)
	return nil
}

// resetEngine gives one of the engine's settings the value of the connection's options, or else the policy's: also where the policy was reloaded and no longer allows the former.
func (s *settings) resetEngine(name string, local bool) error {
	for _, given := range slices.Backward(s.startEngine) {
		if given.name == name && s.assignEngine(given, local) == nil {
			return nil
		}
	}
	start := engineSetting{name: name} // a name that is none has no value
	for _, e := range s.engine.Settings() {
		if e.Name == name {
			start.values = []string{e.Start}
		}
	}
	return s.assignEngine(start, local)
}

// resetAll is RESET ALL. Options that a reloaded policy no longer allows stay at the policy's value.
func (s *settings) resetAll() {
	s.now = values{}
	s.engine.ResetAll()
	for _, e := range s.startEngine {
		_ = s.engine.Set(e.name, e.values)
	}
}

// SetParameter implements pgmeta.Parameters: set_config.
func (s *settings) SetParameter(name, value string, local bool) error {
	name = strings.ToLower(name)
	if p := parameters[name]; p != nil && p.text != nil {
		v, err := p.text(p, value)
		if err == nil {
			s.put(name, v, local)
		}
		return err
	}
	return s.assign(name, []string{value}, local)
}

// formats are the session's settings of values. A zone is kept from one call to the next: zones are compared by identity.
func (s *settings) formats() sqltype.Settings {
	style, order, _ := strings.Cut(s.get("datestyle"), ", ")
	f := sqltype.Settings{DateStyle: dateStyles[style], DateOrder: dateOrders[order], IntervalStyle: intervalStyles[s.get("intervalstyle")],
		ByteaEscape: s.get("bytea_output") == "escape"}
	if digits, err := strconv.Atoi(s.get("extra_float_digits")); err == nil && digits < 1 {
		f.RoundFloats, f.ExtraDigits = true, digits
	}
	if name := s.get("timezone"); s.zone == nil || s.zone.String() != name {
		s.zone, _ = sqltype.LookupZone(name) // found when it was set
	}
	f.Zone = s.zone
	if path := s.get("search_path"); path != parameters["search_path"].def {
		if f.Path = path; path == "" { // none at all
			f.Path = `""`
		}
	}
	return f
}

// millis is the value of a setting that is a time.
func (s *settings) millis(name string) time.Duration {
	v := s.get(name)
	if v == "0" {
		return 0
	}
	p := parameters[name]
	x, err := p.guc.read(p, v) // it was read when it was set
	if err != nil {
		return 0
	}
	return time.Duration(x) * time.Millisecond
}
