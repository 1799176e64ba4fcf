package sqltype

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// word is a field of letters.
func (d *dateDecoder) word(i int) (seen, error) {
	text := d.fields[i].text
	if a, ok := zoneAbbrevs[clipWord(text)]; ok { // these come before all other words
		switch {
		case a.zone != "":
			z, ok := LookupZone(a.zone)
			if !ok {
				return 0, errFormat
			}
			d.abbrevOf, d.abbrev = z, strings.ToUpper(text)
			return sawDynamic | sawZone, nil
		case a.summer:
			d.west = -a.east
			return sawSummer | sawZone, nil
		}
		d.west = -a.east
		return sawZone, nil
	}
	w, ok := dateWord(text)
	if !ok {
		if z, ok := LookupZone(text); ok {
			d.named = z
			return sawZone, nil
		}
		return 0, errFormat
	}
	switch w.kind {
	case wordReserved:
		return d.special(w.value, text)
	case wordMonth:
		saw := sawMonth
		if d.clockOnly {
			return 0, errFormat
		}
		if d.seen&sawMonth != 0 && !d.textMonth && d.seen&sawDay == 0 && d.tm.month >= 1 && d.tm.month <= 31 {
			d.tm.day = d.tm.month // what was taken for the month is the day
			saw = sawDay
		}
		d.textMonth, d.tm.month = true, w.value
		return saw, nil
	case wordDST:
		d.west -= w.value
		return sawSummerWord | sawSummer, nil
	case wordMeridian:
		d.meridian = w.value
		return sawMeridian, nil
	case wordEra:
		d.bc = w.value == eraBC
		return sawEra, nil
	case wordWeekday:
		if d.clockOnly {
			return 0, errFormat
		}
		return sawWeekday, nil
	case wordUnit:
		d.prefix = unit(w.value)
		return 0, nil
	case wordISOTime:
		if !d.clockOnly && d.seen&sawDate != sawDate || i == len(d.fields)-1 {
			return 0, errFormat
		}
		switch d.fields[i+1].kind {
		case fieldNumber, fieldClock, fieldDate:
			d.prefix = unitTime
			return 0, nil
		}
		return 0, errFormat
	}
	return 0, nil // at, on
}

// special is a reserved word. Those that read the clock would make an answer depend on when it is asked, and are refused.
func (d *dateDecoder) special(value int, text string) (seen, error) {
	switch value {
	case resNow, resToday, resTomorrow, resYesterday:
		if d.clockOnly && value != resNow {
			return 0, errFormat
		}
		return 0, sqlerr.New(sqlerr.Unsupported, "the date/time value \"%s\" is not supported", text).
			WithHint("Write the date or the time itself, such as 2024-02-29 or 2024-02-29 12:30.")
	case resZulu:
		d.tm.setClock(0)
		d.west = 0
		return sawClock | sawZone, nil
	}
	if d.clockOnly {
		return 0, errFormat
	}
	d.reserved = value
	return sawReserved, nil
}
