package proxy

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// The settings of PostgreSQL 15 that parameterTable does not have. Those that any user may set change how a server works and not what it
// answers (costs of plans, memory, logs): here they are taken, checked as PostgreSQL does, shown and without effect. What would change
// an answer stands in parameterTable.

// settingsOf15 is pg_settings of PostgreSQL 15, as TestSettingsOf15 writes it: name, value at the start, unit, description, context, type, least, greatest,
// the names of values, category and the rest of the description.
//
//go:embed settings.tsv
var settingsOf15 string

// hiddenContext marks the settings that only a superuser may look at.
const hiddenContext = "hidden"

// loadSettings adds them to those of parameterTable.
func loadSettings() {
	for _, line := range strings.Split(strings.TrimSuffix(settingsOf15, "\n"), "\n") {
		f := strings.Split(line, "\t")
		key := strings.ToLower(f[0])
		of := facts{unit: f[2], context: f[4], category: f[9], extra: f[10], least: f[6], most: f[7], boot: f[1]}
		if p, ok := parameters[key]; ok {
			p.about, p.facts = f[3], of
			p.facts.boot = cmp.Or(p.def, f[1])
			p.kind, p.values = f[5], valuesOf(f[8])
			continue
		}
		g := &guc{unit: f[2], context: f[4], kind: f[5], values: valuesOf(f[8])}
		g.least, g.most = number(f[6]), number(f[7])
		p := &parameter{name: f[0], about: f[3], kind: g.kind, values: g.values, guc: g, check: checkGUC, def: f[1], facts: of}
		p.fixed = g.context != "user"
		if g.numeric() && f[1] != "" {
			p.def = g.show(number(f[1]))
		}
		if slices.Contains(octal, p.name) {
			p.def = octalMode(f[1])
		}
		parameters[key] = p
		if g.context != hiddenContext {
			allNames = append(allNames, key)
		}
	}
}

func valuesOf(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// number reads one of the file's numbers.
func number(s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return x
}

// guc is what PostgreSQL knows of a setting's values.
type guc struct {
	unit, context, kind string
	least, most         float64
	values              []string
}

func (g *guc) numeric() bool { return g.kind == "integer" || g.kind == "real" }

// unit is a name of a unit and how many of the setting's own it is.
type unit struct {
	name  string
	times float64
}

// units are those of sizes in bytes and of times in milliseconds, the largest first.
var (
	sizeUnits = []unit{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}, {"B", 1}}
	timeUnits = []unit{{"d", 86400000}, {"h", 3600000}, {"min", 60000}, {"s", 1000}, {"ms", 1}, {"us", 0.001}}
)

// units are what a value may be written in, and the size of the setting's own among them.
func (g *guc) units() (all []unit, own float64) {
	switch g.unit {
	case "":
		return nil, 1
	case "8kB":
		return sizeUnits, 8 << 10
	}
	for _, list := range [][]unit{sizeUnits, timeUnits} {
		for _, u := range list {
			if u.name == g.unit {
				return list, u.times
			}
		}
	}
	return nil, 1
}

// show writes a number in the largest unit in which it is whole, as SHOW does.
func (g *guc) show(x float64) string {
	all, own := g.units()
	if x > 0 || g.kind == "real" && x != 0 {
		for _, u := range all {
			if n := x * own / u.times; n == math.Trunc(n) {
				return strconv.FormatFloat(n, 'g', -1, 64) + u.name
			}
		}
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// checkGUC reads the value of a setting without effect.
func checkGUC(p *parameter, list []string) (string, error) {
	g := p.guc
	switch g.context {
	case "user":
	case "superuser", "superuser-backend", hiddenContext:
		return "", sqlerr.New(sqlerr.Privilege, "permission denied to set parameter \"%s\"", p.name)
	default:
		return "", cannotChange(p)
	}
	v, err := one(p, list)
	switch {
	case err != nil:
		return "", err
	case g.kind == "bool":
		return anyBool(p, list)
	case g.kind == "enum":
		return g.named(p, v)
	case g.numeric():
		x, err := g.read(p, v)
		return g.show(x), err
	}
	return onlyDefault(p, list)
}

// named is one of the values of an enum; where on is one, so are the other words for it.
func (g *guc) named(p *parameter, v string) (string, error) {
	low := strings.ToLower(v)
	if on, ok := map[string]string{"true": "on", "yes": "on", "1": "on", "false": "off", "no": "off", "0": "off"}[low]; ok && slices.Contains(g.values, on) {
		return on, nil
	}
	if slices.Contains(g.values, low) {
		return low, nil
	}
	return "", sqlerr.New(sqlerr.InvalidParam, "invalid value for parameter \"%s\": \"%s\"", p.name, v).
		WithHint("Available values: %s.", strings.Join(g.values, ", "))
}

// read takes a number with or without a unit.
func (g *guc) read(p *parameter, v string) (float64, error) {
	text := strings.TrimSpace(v)
	end := 0
	for end < len(text) && strings.IndexByte("+-.0123456789eExX", text[end]) >= 0 {
		end++
	}
	x, rest := 0.0, ""
	for ; ; end-- { // an exponent may be a unit's first letter
		if end == 0 {
			return 0, invalidValue(p, v)
		}
		n, err := strconv.ParseInt(text[:end], 0, 64)
		if err == nil {
			x = float64(n)
		} else if x, err = strconv.ParseFloat(text[:end], 64); err != nil {
			continue
		}
		rest = strings.TrimSpace(text[end:])
		break
	}
	all, own := g.units()
	if rest != "" {
		i := slices.IndexFunc(all, func(u unit) bool { return u.name == rest })
		if i < 0 {
			err := invalidValue(p, v)
			switch {
			case len(all) == 0:
			case all[0].name == "TB":
				err = err.WithHint("Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".")
			default:
				err = err.WithHint("Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".")
			}
			return 0, err
		}
		x = x * all[i].times / own
	}
	if g.kind == "integer" {
		if x = math.RoundToEven(x); math.Abs(x) > math.MaxInt32 {
			return 0, invalidValue(p, v).WithHint("Value exceeds integer range.")
		}
	}
	if math.IsNaN(x) {
		return 0, invalidValue(p, v)
	}
	if x < g.least || x > g.most {
		unit := ""
		if g.unit != "" {
			unit = " " + g.unit
		}
		return 0, sqlerr.New(sqlerr.InvalidParam, "%s%s is outside the valid range for parameter \"%s\" (%s .. %s)", short(x), unit, p.name, short(g.least), short(g.most))
	}
	return x, nil
}

// short is C's %d or %g.
func short(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) <= math.MaxInt32 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return fmt.Sprintf("%.6g", x)
}

// facts are what pg_settings tells of a setting beside its values, as settings.tsv has them.
type facts struct {
	unit, context, category, extra, least, most, boot string
}

// octal are the settings that are shown as modes of files.
var octal = []string{"data_directory_mode", "log_file_mode", "unix_socket_permissions"}

// octalMode writes a mode of files.
func octalMode(n string) string {
	x, err := strconv.Atoi(n)
	if err != nil {
		return n
	}
	return fmt.Sprintf("%04o", x)
}
