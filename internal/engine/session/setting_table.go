package session

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// setting is one row of the table of settings.
type setting struct {
	about string
	kind  string   // as pg_settings.vartype has it
	words []string // of an enumeration
	get   func(*Settings) string
	set   func(s *Session, to *Settings, value string) error
}

// Setting is one setting as SHOW ALL and pg_settings list it.
type Setting struct {
	Name, Value, About, Kind string
	Start                    string // its value when the session began
	Values                   []string
}

const (
	kindString = "string"
	kindBool   = "bool"
	kindReal   = "real"
	kindEnum   = "enum"
)

// The words that settings take, the usual one first where a mistake leaves it.
var (
	mechanismWords  = price.Words()
	boundingWords   = []string{"linf", "auto", "l2", ByElastic, ByTruncate, ByWeights, byFlow}
	lowWords        = []string{LowKeep, LowNull, LowDrop}
	roundingWords   = []string{RoundError, RoundOff}
	consistentWords = []string{ConsistentOn, ConsistentNonnegative, ConsistentOff}
	noticeWords     = []string{"off", "brief", "full"}
)

var settingTable = map[string]setting{
	"dpsql.price": {
		"The most that each of the next statements may take from the budget: as much as a Laplace answer with that epsilon.",
		kindReal, nil,
		func(s *Settings) string { return strconv.FormatFloat(s.Epsilon, 'g', -1, 64) },
		func(s *Session, to *Settings, v string) error {
			e, err := strconv.ParseFloat(v, 64)
			if err != nil || !(e > 0) || math.IsInf(e, 0) {
				return sqlerr.New(sqlerr.InvalidParam, "dpsql.price must be a positive number, not %q", v)
			}
			// A floor: an almost free statement is still a scan and two records in the ledger.
			if least := s.LeastEpsilon(); e < least {
				return sqlerr.New(sqlerr.InvalidParam, "dpsql.price %g is too small to ask for anything", e).WithHint("The least is %g.", least)
			}
			if err := s.MayAsk("dpsql.price", e); err != nil {
				return err
			}
			to.Epsilon = e
			return nil
		},
	},
	"dpsql.mechanism": {
		"Which noise: auto, laplace or gaussian.",
		kindEnum, mechanismWords,
		func(s *Settings) string { return string(s.Mechanism) },
		func(_ *Session, to *Settings, v string) error {
			m, err := choice("dpsql.mechanism", v, mechanismWords...)
			to.Mechanism = price.Mechanism(m)
			return err
		},
	},
	"dpsql.max_groups": {
		"Groups of one person that count, where keys do not bound them.",
		kindString, nil,
		func(s *Settings) string { return numberOrAuto(s.maxGroups) },
		func(s *Session, to *Settings, v string) (err error) {
			to.maxGroups, err = parseNumberOrAuto("dpsql.max_groups", v, uint64(s.World.Policy.Query.MaxPublicGroups))
			return err
		},
	},
	// Rows of one unit in a group that count, at most: an analyst who knows the data may ask for fewer than the policy allows, which is
	// more exact, or set an automatic bound and save the choice's share.
	"dpsql.clip": {
		"Rows of one person that count in one group.",
		kindString, nil,
		func(s *Settings) string { return numberOrAuto(s.Clip) },
		func(_ *Session, to *Settings, v string) (err error) {
			to.Clip, err = parseNumberOrAuto("dpsql.clip", v, mostClip)
			return err
		},
	},
	"dpsql.bounding": {
		"How a person's part is bounded: linf, l2 or auto. For joins off the unit elastic, truncate or weighted, for rows of two units flow.",
		kindEnum, boundingWords,
		func(s *Settings) string { return s.Bounding },
		func(_ *Session, to *Settings, v string) (err error) {
			to.Bounding, err = choice("dpsql.bounding", v, boundingWords...)
			return err
		},
	},
	"dpsql.target_error": {
		"The largest 95% error of the next statements, at the least price up to dpsql.price: off, a share such as 5%, or a number.",
		kindString, nil,
		func(s *Settings) string { return s.Target.String() },
		func(_ *Session, to *Settings, v string) (err error) {
			to.Target, err = ParseTarget("dpsql.target_error", v)
			return err
		},
	},
	"dpsql.expected_size": {
		"About how many rows a group has, for EXPLAIN and dpsql.target_error: unknown, or a number.",
		kindString, nil,
		func(s *Settings) string {
			if s.Size == 0 {
				return "unknown"
			}
			return strconv.FormatUint(s.Size, 10)
		},
		func(_ *Session, to *Settings, v string) (err error) {
			to.Size, err = ParseSize("dpsql.expected_size", v)
			return err
		},
	},
	"dpsql.fresh": {
		"Ask anew, and pay, where a stored release would answer: on or off.",
		kindBool, nil,
		func(s *Settings) string { return onOff(s.Fresh) },
		func(_ *Session, to *Settings, v string) (err error) {
			to.Fresh, err = parseSwitch("dpsql.fresh", v)
			return err
		},
	},
	"dpsql.on_low_count": {
		"What is shown of a count, sum or average that is less than its error: keep, null or drop (its group's row).",
		kindEnum, lowWords,
		func(s *Settings) string { return s.Low },
		func(_ *Session, to *Settings, v string) (err error) {
			to.Low, err = choice("dpsql.on_low_count", v, lowWords...)
			return err
		},
	},
	"dpsql.rounding": {
		"Round counts, sums, averages and statistics to what their error leaves significant: off or error.",
		kindEnum, roundingWords,
		func(s *Settings) string { return s.Rounding },
		func(_ *Session, to *Settings, v string) (err error) {
			to.Rounding, err = choice("dpsql.rounding", v, roundingWords...)
			return err
		},
	},
	"dpsql.simultaneous": {
		"Whether dp_error, dp_low and dp_high of an aggregate hold in all rows of an answer at once with 95%: on or off.",
		kindBool, nil,
		func(s *Settings) string { return onOff(s.Simultaneous) },
		func(_ *Session, to *Settings, v string) (err error) {
			to.Simultaneous, err = parseSwitch("dpsql.simultaneous", v)
			return err
		},
	},
	"dpsql.consistent": {
		"Groups of ROLLUP, CUBE and GROUPING SETS add up to their totals: on, nonnegative (no count below 0) or off.",
		kindEnum, consistentWords,
		func(s *Settings) string { return s.Consistent },
		func(_ *Session, to *Settings, v string) (err error) {
			to.Consistent, err = choice("dpsql.consistent", v, consistentWords...)
			return err
		},
	},
	"dpsql.progress": {
		"Tell by NOTICEs how far a statement is that takes over 2 seconds: on or off.",
		kindBool, nil,
		func(s *Settings) string { return onOff(s.progress) },
		func(_ *Session, to *Settings, v string) (err error) {
			to.progress, err = parseSwitch("dpsql.progress", v)
			return err
		},
	},
	"dpsql.notices": {
		"What a NOTICE tells with each answer: off, brief or full.",
		kindEnum, noticeWords,
		func(s *Settings) string { return s.Notices },
		func(_ *Session, to *Settings, v string) (err error) {
			to.Notices, err = choice("dpsql.notices", v, noticeWords...)
			return err
		},
	},
}

// mostClip is the largest dpsql.clip, as of max_rows_per_unit.
const mostClip = 1 << 32

func numberOrAuto(n uint64) string {
	if n == 0 {
		return "auto"
	}
	return strconv.FormatUint(n, 10)
}

func parseNumberOrAuto(name, v string, most uint64) (uint64, error) {
	if strings.EqualFold(v, "auto") {
		return 0, nil
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil || n == 0 || n > most {
		return 0, sqlerr.New(sqlerr.InvalidParam, "%s must be auto or a whole number from 1 to %d, not %q", name, most, v)
	}
	return n, nil
}

func choice(name, v string, values ...string) (string, error) {
	for _, x := range values {
		if strings.EqualFold(v, x) {
			return x, nil
		}
	}
	return values[0], sqlerr.New(sqlerr.InvalidParam, "invalid value for parameter %q: %q", name, v).
		WithHint("Available values: %s.", strings.Join(values, ", "))
}

// parseSwitch reads what PostgreSQL reads as a boolean setting.
func parseSwitch(name, v string) (bool, error) {
	b, err := sqltype.ParseText(v, sqltype.Bool)
	if err != nil {
		return false, sqlerr.New(sqlerr.InvalidParam, "parameter %q requires a Boolean value", name)
	}
	return b == true, nil
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// settingAliases are older names of settings. They mean the same and are in no list.
var settingAliases = map[string]string{"dpsql.epsilon": "dpsql.price"}

// SettingName is the name of a setting that may be called by its older one.
func SettingName(name string) string {
	if now, ok := settingAliases[name]; ok {
		return now
	}
	return name
}

// settingOf finds a setting by its name or its older one.
func settingOf(name string) (setting, bool) {
	row, ok := settingTable[SettingName(name)]
	return row, ok
}

// Set changes a dpsql.* setting.
func (s *Session) Set(name string, values []string) error {
	row, ok := settingOf(name)
	if !ok {
		return unknownSetting(name)
	}
	if len(values) != 1 {
		return sqlerr.New(sqlerr.InvalidParam, "SET %s takes only one argument", name)
	}
	to := s.Now
	if err := row.set(s, &to, strings.TrimSpace(values[0])); err != nil {
		return err
	}
	s.Now = to
	return nil
}

// Reset gives a setting its value of the session's start.
func (s *Session) Reset(name string) error {
	row, ok := settingOf(name)
	if !ok {
		return unknownSetting(name)
	}
	return row.set(s, &s.Now, row.get(&s.Start))
}

// Apply runs a SET statement of dpsql's settings. It passes over PostgreSQL's, which change how a client is answered.
func (s *Session) Apply(n *pgsyntax.Set) error {
	switch {
	case !strings.HasPrefix(n.Name, "dpsql."):
		return nil
	case n.Default:
		return s.Reset(n.Name)
	}
	return s.Set(n.Name, n.Values)
}

// ResetAll gives all settings their values of the session's start, and forgets of what the session was warned.
func (s *Session) ResetAll() { s.Now, s.Warned = s.Start, nil }

// Show tells a setting, or dpsql.budget as one line. ok is false for a name that is not dpsql's.
func (s *Session) Show(name string) (value string, ok bool, err error) {
	if name == "dpsql.budget" {
		value, err = s.budgetLine()
		return value, true, err
	}
	row, ok := settingOf(name)
	if !ok {
		if strings.HasPrefix(name, "dpsql.") {
			return "", true, unknownSetting(name)
		}
		return "", false, nil
	}
	return row.get(&s.Now), true, nil
}

// Snapshot keeps the settings at BEGIN.
func (s *Session) Snapshot() any { return s.Now }

// Restore puts a snapshot back (ROLLBACK); what was spent stays spent.
func (s *Session) Restore(snapshot any) {
	if old, ok := snapshot.(Settings); ok {
		s.Now = old
	}
}

func unknownSetting(name string) error {
	err := sqlerr.New(sqlerr.UndefinedObject, "unrecognized configuration parameter %q", name)
	own := append(SettingNames(), "dpsql.budget")
	for i := range own {
		own[i] = strings.TrimPrefix(own[i], "dpsql.")
	}
	if near := sqlerr.Nearest(strings.TrimPrefix(name, "dpsql."), own); near != "" {
		return err.WithHint("Perhaps you meant dpsql.%s.", near)
	}
	return err.WithHint("dpsql has: %s, and SHOW dpsql.budget.", strings.Join(SettingNames(), ", "))
}

// SettingNames lists the settings, sorted.
func SettingNames() []string { return slices.Sorted(maps.Keys(settingTable)) }

// Settings are all of them as they are, by name.
func (s *Session) Settings() []Setting {
	var out []Setting
	for _, name := range SettingNames() {
		row := settingTable[name]
		out = append(out, Setting{name, row.get(&s.Now), row.about, row.kind, row.get(&s.Start), row.words})
	}
	return out
}

// MayAsk refuses a price above the analyst's for one statement. what is the setting or the option that has it.
func (s *Session) MayAsk(what string, epsilon float64) *sqlerr.Error {
	if most := s.Analyst.MaxQueryEpsilon; epsilon > most {
		return sqlerr.New(sqlerr.PriceTooLarge, "%s %g is more than this analyst may spend on one statement", what, epsilon).WithHint("%s = %g is the most. The owner can raise max_query_price in the policy.", map[bool]string{true: "SET " + what, false: what}[strings.HasPrefix(what, "dpsql.")], most)
	}
	return nil
}
