package sqltype

import (
	"math"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// civil is a date and time of day by the calendar; the year before 1 is 0.
type civil struct {
	year, month, day, hour, min, sec int
	micros                           int
}

// seen is a set of what a text has said.
type seen uint32

const (
	sawMonth seen = 1 << iota
	sawYear
	sawDay
	sawHour
	sawMinute
	sawSecond
	sawMilli
	sawMicro
	sawZone
	sawSummer
	sawSummerWord
	sawDynamic
	sawYearDay
	sawWeekday
	sawEra
	sawMeridian
	sawReserved

	sawDate    = sawYear | sawMonth | sawDay
	sawSeconds = sawSecond | sawMilli | sawMicro
	sawClock   = sawHour | sawMinute | sawSeconds
)

// dateDecoder reads the fields of a date with time, or of a time of day.
type dateDecoder struct {
	set       *Settings
	clockOnly bool // time and timetz, where a date only says what the zone's offset is
	fields    []dtField

	tm       civil
	seen     seen
	reserved int
	prefix   unit // what the next number is
	dateForm
	zoneForm
}

// dateForm is how a date is written.
type dateForm struct {
	yearDay   int
	meridian  int
	bc        bool
	textMonth bool
	julian    bool
	twoDigits bool // the year's
}

// zoneForm is how a zone is written.
type zoneForm struct {
	west     int // seconds, of a numeric zone or a fixed abbreviation
	named    *Zone
	abbrev   string // of a zone whose abbreviations have changed their meaning
	abbrevOf *Zone
	today    bool // the offset is that of the day on which it is read
}

// decodeDatetime reads a date with time; reserved says if it is one of the special values instead.
func (s *Settings) decodeDatetime(text string, clockOnly bool, room int) (*dateDecoder, error) {
	fields, err := splitDatetime(text, room)
	if err != nil {
		return nil, err
	}
	d := &dateDecoder{set: s, clockOnly: clockOnly, fields: fields}
	for i := range fields {
		saw, err := d.field(i)
		if err != nil {
			return nil, err
		}
		if d.seen&saw != 0 {
			return nil, errFormat
		}
		d.seen |= saw
	}
	return d, d.finish()
}

func (d *dateDecoder) field(i int) (seen, error) {
	f := d.fields[i]
	switch f.kind {
	case fieldDate:
		if d.clockOnly {
			return d.dateOfClock(i)
		}
		return d.dateField(f.text)
	case fieldClock:
		if d.prefix != unitNone && !d.clockOnly {
			if d.prefix != unitTime {
				return 0, errFormat
			}
			d.prefix = unitNone
		}
		c, err := parseClock(f.text, fullRange)
		if err != nil {
			return 0, err
		}
		if c.hour > math.MaxInt32 {
			return 0, errField
		}
		d.tm.hour, d.tm.min, d.tm.sec, d.tm.micros = int(c.hour), c.min, c.sec, c.micros
		if !d.clockOnly && d.tm.clockOverflows() {
			return 0, errField
		}
		return sawClock, nil
	case fieldSigned:
		west, err := parseZoneOffset(f.text)
		d.west = west
		return sawZone, err
	case fieldNumber:
		if d.prefix != unitNone {
			saw, err := d.labelled(f.text)
			d.prefix, d.reserved = unitNone, resDate
			return saw, err
		}
		if d.clockOnly {
			return d.numberOfClock(i)
		}
		return d.number(f.text)
	}
	return d.word(i)
}

// dateField is one with delimiters: a date, or after one a zone or a run-together time with an offset.
func (d *dateDecoder) dateField(text string) (seen, error) {
	switch {
	case d.prefix == unitJulian: // a day with a zone
		day, rest, ok := leadingInt(text)
		if !ok || day < 0 {
			return 0, errField
		}
		d.setJulian(day)
		d.prefix = unitNone
		west, err := parseZoneOffset(rest)
		d.west = west
		return sawDate | sawClock | sawZone, err
	case d.prefix != unitNone || d.seen&(sawMonth|sawDay) == sawMonth|sawDay:
		if !isDigit(text[0]) && d.prefix == unitNone {
			return sawZone, d.setZone(text)
		}
		if d.prefix != unitNone && d.prefix != unitTime || d.seen&sawClock == sawClock {
			return 0, errFormat
		}
		d.prefix = unitNone
		return d.clockWithOffset(text, d.seen)
	}
	return d.date(text)
}

// clockWithOffset is hhmmss-zz.
func (d *dateDecoder) clockWithOffset(text string, have seen) (seen, error) {
	i := strings.IndexByte(text, '-')
	if i < 0 {
		return 0, errFormat
	}
	west, err := parseZoneOffset(text[i:])
	if err != nil {
		return 0, err
	}
	d.west = west
	saw, err := d.runTogether(text[:i], have)
	return saw | sawZone, err
}

// dateOfClock is a field with delimiters beside a time of day.
func (d *dateDecoder) dateOfClock(i int) (seen, error) {
	text, last := d.fields[i].text, len(d.fields)-1
	switch {
	case i == 0 && last >= 1 && (d.fields[last].kind == fieldDate || d.fields[1].kind == fieldClock):
		return d.date(text)
	case !isDigit(text[0]):
		return sawZone, d.setZone(text)
	case d.seen&sawClock == sawClock:
		return 0, errFormat
	}
	return d.clockWithOffset(text, d.seen|sawDate)
}

func (d *dateDecoder) setZone(name string) error {
	z, ok := LookupZone(name)
	if !ok {
		return sqlerr.New(sqlerr.InvalidParam, "time zone \"%s\" not recognized", name)
	}
	d.named = z
	return nil
}

func (d *dateDecoder) setJulian(day int) {
	d.tm.setDate(Days(day - julianEpoch))
	d.julian = true
}

// date is a date with delimiters, perhaps with a month's name.
func (d *dateDecoder) date(text string) (seen, error) {
	var parts []string
	for i := 0; i < len(text) && len(parts) < maxFields; {
		i = span(text, i, func(c byte) bool { return !isAlnum(c) })
		if i == len(text) {
			return 0, errFormat // nothing behind a delimiter
		}
		kind := isDigit
		if isAlpha(text[i]) {
			kind = isAlpha
		}
		end := span(text, i, kind)
		parts = append(parts, text[i:end])
		i = end + 1 // whatever stands there delimits
	}
	have, saw := d.seen, seen(0)
	textMonth := false
	for i, p := range parts { // a name first, which is surely the month
		if !isAlpha(p[0]) {
			continue
		}
		w, _ := dateWord(p)
		if w.kind == wordIgnored {
			continue
		}
		if w.kind != wordMonth || have&sawMonth != 0 {
			return 0, errFormat
		}
		d.tm.month, textMonth = w.value, true
		have, saw = have|sawMonth, saw|sawMonth
		parts[i] = ""
	}
	for _, p := range parts {
		if p == "" {
			continue
		}
		part, err := d.single(p, textMonth, have)
		if err != nil {
			return 0, err
		}
		if have&part != 0 {
			return 0, errFormat
		}
		have, saw = have|part, saw|part
	}
	if have&^(sawYearDay|sawZone) != sawDate {
		return 0, errFormat
	}
	return saw, nil
}

// labelled is the number behind a label: y2024 m02 d29.
func (d *dateDecoder) labelled(text string) (seen, error) {
	v, rest, ok := leadingInt(text)
	if !ok {
		return 0, errField
	}
	if strings.HasPrefix(rest, ".") {
		if d.prefix != unitJulian && d.prefix != unitTime && d.prefix != unitSecond {
			return 0, errFormat
		}
	} else if rest != "" {
		return 0, errFormat
	}
	switch d.prefix {
	case unitYear:
		d.tm.year = v
		return sawYear, nil
	case unitMonth: // minutes behind an hour
		if d.seen&sawMonth != 0 && d.seen&sawHour != 0 {
			d.tm.min = v
			return sawMinute, nil
		}
		d.tm.month = v
		return sawMonth, nil
	case unitDay:
		d.tm.day = v
		return sawDay, nil
	case unitHour:
		d.tm.hour = v
		return sawHour, nil
	case unitMinute:
		d.tm.min = v
		return sawMinute, nil
	case unitSecond:
		d.tm.sec = v
		if rest == "" {
			return sawSecond, nil
		}
		micros, err := parseMicros(rest)
		d.tm.micros = micros
		return sawSeconds, err
	case unitJulian:
		if v < 0 {
			return 0, errField
		}
		d.setJulian(v)
		if rest == "" {
			return sawDate, nil
		}
		frac, err := strconv.ParseFloat("0"+rest+"0", 64)
		if err != nil {
			return 0, errFormat
		}
		d.tm.setClock(int64(frac * microsPerDay))
		return sawDate | sawClock, nil
	case unitTime:
		saw, err := d.runTogether(text, d.seen|sawDate)
		if err == nil && saw != sawClock {
			err = errFormat
		}
		return saw, err
	}
	return 0, errFormat
}

// number is a number that nothing labels.
func (d *dateDecoder) number(text string) (seen, error) {
	point := strings.IndexByte(text, '.')
	switch {
	case point >= 0 && d.seen&sawDate == 0:
		return d.date(text)
	case point > 2, len(text) >= 6 && (d.seen&sawDate == 0 || d.seen&sawClock == 0):
		return d.runTogether(text, d.seen)
	}
	return d.single(text, d.textMonth, d.seen)
}

func (d *dateDecoder) numberOfClock(i int) (seen, error) {
	text, last := d.fields[i].text, len(d.fields)-1
	point := strings.IndexByte(text, '.')
	switch {
	case point >= 0 && i == 0 && last >= 1 && d.fields[last].kind == fieldDate:
		return d.date(text)
	case point > 2, point < 0 && len(text) > 4:
		return d.runTogether(text, d.seen|sawDate)
	case point >= 0:
		return 0, errFormat
	}
	return d.single(text, false, d.seen|sawDate)
}

// single finds out which part of a date a number is, from the parts before it and the session's order.
func (d *dateDecoder) single(text string, textMonth bool, have seen) (seen, error) {
	v, rest, ok := leadingInt(text)
	switch {
	case !ok:
		return 0, errField
	case len(rest) == len(text):
		return 0, errFormat
	case strings.HasPrefix(rest, "."):
		if len(text)-len(rest) > 2 {
			return d.runTogether(text, have|sawDate)
		}
		micros, err := parseMicros(rest)
		if err != nil {
			return 0, err
		}
		d.tm.micros = micros
	case rest != "":
		return 0, errFormat
	}
	if len(text) == 3 && have&sawDate == sawYear && v >= 1 && v <= 366 {
		d.yearDay = v
		return sawYearDay | sawMonth | sawDay, nil
	}
	year := func() (seen, error) {
		d.tm.year, d.twoDigits = v, len(text) <= 2
		return sawYear, nil
	}
	month := func() (seen, error) { d.tm.month = v; return sawMonth, nil }
	day := func() (seen, error) { d.tm.day = v; return sawDay, nil }
	long := len(text) >= 3
	switch have & sawDate {
	case 0:
		switch {
		case long || d.set.DateOrder == OrderYMD:
			return year()
		case d.set.DateOrder == OrderDMY:
			return day()
		}
		return month()
	case sawYear, sawDay:
		return month()
	case sawMonth:
		if textMonth && (long || d.set.DateOrder == OrderYMD) {
			return year()
		}
		return day()
	case sawYear | sawMonth:
		if textMonth && long && d.twoDigits { // what was taken for the year is the day
			d.tm.day, d.tm.year, d.twoDigits = d.tm.year, v, false
			return sawDay, nil
		}
		return day()
	case sawMonth | sawDay:
		return year()
	case sawDate:
		return d.runTogether(text, have)
	}
	return 0, errFormat
}

// runTogether reads yyyymmdd, hhmmss or hhmm.
func (d *dateDecoder) runTogether(text string, have seen) (seen, error) {
	if i := strings.IndexByte(text, '.'); i >= 0 {
		frac := text[i:span(text, i+1, isDigit)]
		f, err := strconv.ParseFloat("0"+frac+"0", 64)
		if err != nil {
			return 0, errFormat
		}
		d.tm.micros = int(math.RoundToEven(f * 1e6))
		text = text[:i]
	} else if have&sawDate != sawDate && len(text) >= 6 {
		n := len(text)
		year, err := strconv.ParseInt(text[:n-4], 10, 32)
		if err != nil {
			return 0, errField
		}
		d.tm.year, d.tm.month, d.tm.day = int(year), atoi(text[n-4:n-2]), atoi(text[n-2:])
		d.twoDigits = d.twoDigits || n == 6
		return sawDate, nil
	}
	if have&sawClock != sawClock {
		switch len(text) {
		case 6:
			d.tm.hour, d.tm.min, d.tm.sec = atoi(text[:2]), atoi(text[2:4]), atoi(text[4:])
			return sawClock, nil
		case 4:
			d.tm.hour, d.tm.min, d.tm.sec = atoi(text[:2]), atoi(text[2:]), 0
			return sawClock, nil
		}
	}
	return 0, errFormat
}
