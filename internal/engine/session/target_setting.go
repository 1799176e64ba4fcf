package session

import (
	"math"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// Target is an error that a statement's aggregates should have at most, with 95%: a number, or a part of the value. The zero target asks for none.
type Target struct {
	Most     float64
	Relative bool
}

func (t Target) String() string {
	switch {
	case t.Most == 0:
		return "off"
	case t.Relative:
		return strconv.FormatFloat(100*t.Most, 'g', 12, 64) + "%"
	}
	return strconv.FormatFloat(t.Most, 'g', -1, 64)
}

// ParseTarget reads a setting that is a target error.
func ParseTarget(name, v string) (Target, error) {
	if strings.EqualFold(v, "off") {
		return Target{}, nil
	}
	text, relative := strings.CutSuffix(strings.TrimSpace(v), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if relative {
		x /= 100
	}
	if err != nil || !(x > 0) || math.IsInf(x, 1) {
		return Target{}, sqlerr.New(sqlerr.InvalidParam, "%s must be off, a part such as 5%%, or a positive number, not %q", name, v)
	}
	return Target{x, relative}, nil
}

// mostSize is the largest dpsql.expected_size.
const mostSize = 1 << 40

// ParseSize reads a setting that is a number of people; 0: unknown.
func ParseSize(name, v string) (uint64, error) {
	if strings.EqualFold(v, "unknown") {
		return 0, nil
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil || n == 0 || n > mostSize {
		return 0, sqlerr.New(sqlerr.InvalidParam, "%s must be unknown or a whole number from 1 to %d, not %q", name, uint64(mostSize), v)
	}
	return n, nil
}
