package sqltype

// wordKind says what a word of a date is.
type wordKind int

const (
	wordReserved wordKind = iota
	wordMonth
	wordWeekday
	wordMeridian // am, pm
	wordEra      // ad, bc
	wordUnit     // the label before a number: y2024m02d29, j2460370
	wordISOTime  // t
	wordDST
	wordIgnored
)

type word struct {
	kind  wordKind
	value int
}

// Values of reserved words, meridians and eras.
const (
	resDate = iota // no reserved word: a date
	resEarly
	resLate
	resEpoch
	resNow
	resToday
	resTomorrow
	resYesterday
	resZulu
)

const (
	meridianNone = iota
	meridianAM
	meridianPM
)

const (
	eraAD = iota
	eraBC
)

// unit is a unit of time: the label of a number.
type unit int

const (
	unitNone unit = iota
	unitMicrosecond
	unitMillisecond
	unitSecond
	unitMinute
	unitHour
	unitDay
	unitWeek
	unitMonth
	unitQuarter
	unitYear
	unitDecade
	unitCentury
	unitMillennium
	unitJulian
	unitTime // behind t
	unitOther
)

var dateWords = func() map[string]word {
	m := map[string]word{
		"-infinity": {wordReserved, resEarly}, "infinity": {wordReserved, resLate}, "epoch": {wordReserved, resEpoch}, "now": {wordReserved, resNow},
		"today": {wordReserved, resToday}, "tomorrow": {wordReserved, resTomorrow}, "yesterday": {wordReserved, resYesterday},
		"allballs": {wordReserved, resZulu}, "ad": {wordEra, eraAD}, "bc": {wordEra, eraBC}, "am": {wordMeridian, meridianAM},
		"pm": {wordMeridian, meridianPM}, "at": {wordIgnored, 0}, "on": {wordIgnored, 0}, "dst": {wordDST, 3600}, "t": {wordISOTime, int(unitTime)},
		"y": {wordUnit, int(unitYear)}, "m": {wordUnit, int(unitMonth)}, "d": {wordUnit, int(unitDay)}, "h": {wordUnit, int(unitHour)},
		"mm": {wordUnit, int(unitMinute)}, "s": {wordUnit, int(unitSecond)}, "j": {wordUnit, int(unitJulian)}, "jd": {wordUnit, int(unitJulian)},
		"julian": {wordUnit, int(unitJulian)}, "dow": {wordUnit, int(unitOther)}, "doy": {wordUnit, int(unitOther)},
		"isodow": {wordUnit, int(unitOther)}, "isoyear": {wordUnit, int(unitOther)}, "sept": {wordMonth, 9},
		"tues": {wordWeekday, 2}, "weds": {wordWeekday, 3}, "thur": {wordWeekday, 4}, "thurs": {wordWeekday, 4},
	}
	for i, name := range monthNames {
		m[name[:3]], m[name] = word{wordMonth, i + 1}, word{wordMonth, i + 1}
	}
	for i, name := range dayNames {
		m[name[:3]], m[name] = word{wordWeekday, i}, word{wordWeekday, i}
	}
	return m
}()

var (
	monthNames = []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
	dayNames   = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
)

// wordLen is TOKMAXLEN: how much of a word counts.
const wordLen = 10

func clipWord(w string) string { return w[:min(len(w), wordLen)] }

func dateWord(w string) (word, bool) {
	x, ok := dateWords[clipWord(w)]
	return x, ok
}

// intervalUnits are the units of an interval's numbers; "ago" stands among them as unitNone.
var intervalUnits = map[string]unit{
	"ago": unitNone,
	"us":  unitMicrosecond, "usec": unitMicrosecond, "usecs": unitMicrosecond, "usecond": unitMicrosecond, "useconds": unitMicrosecond,
	"microsecon": unitMicrosecond,
	"ms":         unitMillisecond, "msec": unitMillisecond, "msecs": unitMillisecond, "msecond": unitMillisecond, "mseconds": unitMillisecond,
	"millisecon": unitMillisecond,
	"s":          unitSecond, "sec": unitSecond, "secs": unitSecond, "second": unitSecond, "seconds": unitSecond,
	"m": unitMinute, "min": unitMinute, "mins": unitMinute, "minute": unitMinute, "minutes": unitMinute,
	"h": unitHour, "hr": unitHour, "hrs": unitHour, "hour": unitHour, "hours": unitHour,
	"d": unitDay, "day": unitDay, "days": unitDay,
	"w": unitWeek, "week": unitWeek, "weeks": unitWeek,
	"mon": unitMonth, "mons": unitMonth, "month": unitMonth, "months": unitMonth,
	"qtr": unitQuarter, "quarter": unitQuarter,
	"y": unitYear, "yr": unitYear, "yrs": unitYear, "year": unitYear, "years": unitYear,
	"dec": unitDecade, "decs": unitDecade, "decade": unitDecade, "decades": unitDecade,
	"c": unitCentury, "cent": unitCentury, "century": unitCentury, "centuries": unitCentury,
	"mil": unitMillennium, "mils": unitMillennium, "millennium": unitMillennium, "millennia": unitMillennium,
	"timezone": unitOther, "timezone_h": unitOther, "timezone_m": unitOther,
}
