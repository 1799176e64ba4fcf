package sqltype

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones where the machine has none
)

// zoneNames are the names that the time zone database has, as PostgreSQL shows them in pg_timezone_names; names are found
// without regard to case, which the package time does not do.
//
//go:embed zones.txt
var zoneNames string

// abbrevText is PostgreSQL's default set of abbreviations (timezone_abbreviations): a name, and seconds east of UTC with D for
// summer time, or the zone that says what the name meant at a time.
//
//go:embed abbrevs.txt
var abbrevText string

type zoneAbbrev struct {
	east   int
	summer bool
	zone   string
}

var zoneAbbrevs = func() map[string]zoneAbbrev {
	m := map[string]zoneAbbrev{}
	for line := range strings.Lines(abbrevText) {
		f := strings.Fields(line)
		a := zoneAbbrev{summer: len(f) > 2}
		if east, err := strconv.Atoi(f[1]); err == nil {
			a.east = east
		} else {
			a.zone = f[1]
		}
		m[f[0]] = a
	}
	return m
}()

var zoneByName = func() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(zoneNames) {
		name := strings.TrimSpace(line)
		m[strings.ToLower(name)] = name
	}
	return m
}()

// Zone is a time zone: one of the database, or one that its name describes in POSIX's way (EST5EDT4, <+03>-3).
type Zone struct {
	name    string
	loc     *time.Location
	abbrevs map[string]string // of a POSIX zone with summer time: what loc's stand for

	once  sync.Once
	fixed *int // its one offset, if it never had another
}

var utcZone = &Zone{name: "UTC", loc: time.UTC}

// zoneCache keeps zones of the database; POSIX zones, which anybody can invent, are made anew.
var zoneCache sync.Map

// maxZoneName is TZ_STRLEN_MAX.
const maxZoneName = 255

// LookupZone finds a time zone by its name, or reads the name as a POSIX zone.
func LookupZone(name string) (*Zone, bool) {
	if len(name) > maxZoneName {
		return nil, false
	}
	if full, ok := zoneByName[strings.ToLower(name)]; ok {
		if z, ok := zoneCache.Load(full); ok {
			return z.(*Zone), true
		}
		loc, err := time.LoadLocation(full)
		if err != nil {
			return nil, false
		}
		z, _ := zoneCache.LoadOrStore(full, &Zone{name: full, loc: loc})
		return z.(*Zone), true
	}
	return posixZone(strings.ToUpper(name))
}

// OffsetZone is the zone of a fixed offset, as SET TIME ZONE with a number or an interval makes it: <+02>-02.
func OffsetZone(east int) (*Zone, bool) {
	abs := max(east, -east)
	text := fmt.Sprintf("%02d", abs/3600)
	if abs%3600 != 0 {
		text += fmt.Sprintf(":%02d", abs/60%60)
	}
	if abs%60 != 0 {
		text += fmt.Sprintf(":%02d", abs%60)
	}
	if east < 0 {
		return posixZone("<-" + text + ">+" + text)
	}
	return posixZone("<+" + text + ">-" + text)
}

// String is the name by which LookupZone finds the zone again; nil is UTC.
func (z *Zone) String() string {
	if z == nil {
		return utcZone.name
	}
	return z.name
}

// posixZone reads a zone's description: a name and an offset, perhaps the name of summer time with an offset and a rule. Go reads
// these behind the data of a file: here behind a file without any, and under names that Go takes, which PostgreSQL's need not be.
func posixZone(name string) (*Zone, bool) {
	std, rest := posixName(name)
	offset, rest, ok := posixOffset(rest)
	if !ok || std == "" {
		return nil, false
	}
	if rest == "" {
		return &Zone{name: name, loc: time.FixedZone(std, posixEast(offset))}, true
	}
	dst, rest := posixName(rest)
	later := ""
	if rest != "" && rest[0] != ',' {
		if later, rest, ok = posixOffset(rest); !ok {
			return nil, false
		}
	}
	if dst == "" || rest != "" && rest[0] != ',' {
		return nil, false
	}
	rule := "STD" + offset + "DST" + later + rest
	loc, err := time.LoadLocationFromTZData(name, emptyZoneFile("STD", rule))
	if err != nil || !hasSummer(loc) { // Go did not understand the rule
		return nil, false
	}
	return &Zone{name: name, loc: loc, abbrevs: map[string]string{"STD": std, "DST": dst}}, true
}

// posixName is a name in angle brackets, or up to a digit, sign or comma.
func posixName(s string) (name, rest string) {
	if strings.HasPrefix(s, "<") {
		name, rest, ok := strings.Cut(s[1:], ">")
		if !ok {
			return "", s
		}
		return name, rest
	}
	i := span(s, 0, func(c byte) bool { return !isDigit(c) && c != '+' && c != '-' && c != ',' })
	return s[:i], s[i:]
}

// posixOffset is a sign and up to 167 hours, 59 minutes and 60 seconds.
func posixOffset(s string) (offset, rest string, ok bool) {
	i := 0
	if c := peek(s, i); c == '+' || c == '-' {
		i++
	}
	for part, most := range []int{24*7 - 1, 59, 60} {
		if part > 0 {
			if peek(s, i) != ':' {
				break
			}
			i++
		}
		end := span(s, i, isDigit)
		if n, err := strconv.Atoi(s[i:end]); err != nil || n > most {
			return "", s, false
		}
		i = end
	}
	return s[:i], s[i:], true
}

// posixEast is an offset in seconds east of UTC: POSIX counts to the west.
func posixEast(s string) int {
	f := strings.Split(strings.TrimLeft(s, "+-"), ":")
	west := 0
	for i, unit := range []int{3600, 60, 1} {
		if i < len(f) {
			west += atoi(f[i]) * unit
		}
	}
	if s[0] == '-' {
		return west
	}
	return -west
}

func hasSummer(loc *time.Location) bool {
	first, _ := time.Date(2024, time.January, 1, 12, 0, 0, 0, time.UTC).In(loc).Zone()
	for m := time.February; m <= time.December; m++ {
		if name, _ := time.Date(2024, m, 1, 12, 0, 0, 0, time.UTC).In(loc).Zone(); name != first {
			return true
		}
	}
	return false
}

// emptyZoneFile is a time zone file (RFC 8536) with one type, no transitions and a rule.
func emptyZoneFile(std, rule string) []byte {
	std = std[:min(len(std), 200)]
	block := func(b []byte) []byte {
		b = append(b, "TZif2"...)
		b = append(b, make([]byte, 15)...)
		for _, n := range []int{0, 0, 0, 0, 1, len(std) + 1} { // utc, std, leap, transitions, types, characters
			b = binary.BigEndian.AppendUint32(b, uint32(n))
		}
		b = append(b, 0, 0, 0, 0, 0, 0)
		return append(append(b, std...), 0)
	}
	b := block(block(nil))
	return append(append(append(b, '\n'), rule...), '\n')
}

// offsetAt is the offset at a moment in Unix seconds.
func (z *Zone) offsetAt(unix int64) (east int, abbrev string) {
	abbrev, east = time.Unix(unix, 0).In(z.loc).Zone()
	if a, ok := z.abbrevs[abbrev]; ok {
		abbrev = a
	}
	return east, abbrev
}

// offsetOfLocal is the offset at a local time, given as the Unix time that it would be in UTC, and the moment that it stands
// for. A time that the clocks skip counts by the offset before, one that they show twice by the offset after.
func (z *Zone) offsetOfLocal(local int64) (east int, unix int64) {
	before := time.Unix(local-86400, 0).In(z.loc) // offsets are below a day, changes two days apart or more
	_, east = before.Zone()
	_, change := before.ZoneBounds()
	if change.IsZero() {
		return east, local - int64(east)
	}
	_, later := change.In(z.loc).Zone()
	boundary := change.Unix()
	t0, t1 := local-int64(east), local-int64(later)
	switch {
	case t0 < boundary && t1 < boundary:
		return east, t0
	case t0 > boundary && t1 >= boundary:
		return later, t1
	case t0 > t1:
		return east, t0
	}
	return later, t1
}

// offsetOfAbbrev is what an abbreviation meant in the zone at a moment: at its last use until then, else at its first.
func (z *Zone) offsetOfAbbrev(unix int64, abbrev string) (east int, ok bool) {
	const lastChange = 4102444800 // 2100: rules only repeat after it
	t := time.Unix(min(unix, lastChange), 0).In(z.loc)
	for at := t; ; {
		start, _ := at.ZoneBounds()
		if start.IsZero() { // before the first change nothing counts
			break
		}
		if name, off := at.Zone(); name == abbrev {
			return off, true
		}
		at = start.Add(-time.Second).In(z.loc)
	}
	for at := t; ; {
		var more bool
		if at, more = z.next(at); !more || at.Unix() > lastChange {
			return 0, false
		}
		if name, off := at.Zone(); name == abbrev {
			return off, true
		}
	}
}

// next is the next change of the clocks, or a moment at which package time believes there is one: where a rule goes on for ever
// it ends a zone with each year, and in leap years a day early, before the moment that was asked for.
func (z *Zone) next(at time.Time) (_ time.Time, more bool) {
	_, end := at.ZoneBounds()
	if end.IsZero() {
		return at, false
	}
	if !end.After(at) {
		end = at.AddDate(0, 0, 1)
	}
	return end.In(z.loc), true
}

// fixedOffset is the offset of a zone that never had another.
func (z *Zone) fixedOffset() (east int, ok bool) {
	z.once.Do(func() {
		at := time.Unix(-1<<36, 0).In(z.loc) // before all clocks
		_, first := at.Zone()
		for {
			next, more := z.next(at)
			if at = next; !more {
				z.fixed = &first
				return
			}
			if _, off := at.Zone(); off != first {
				return
			}
		}
	})
	if z.fixed == nil {
		return 0, false
	}
	return *z.fixed, true
}

// atoi reads digits that a pattern has matched; nothing is 0.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
