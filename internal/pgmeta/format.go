package pgmeta

import (
	"strings"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// format is format(): %s, %I, %L and %% with positions and widths.
func format(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
	pattern, ok := a[0].(string)
	if !ok {
		return nil, nil
	}
	var b strings.Builder
	next := 1
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			b.WriteByte(pattern[i])
			continue
		}
		i++
		digits := func() (n int, some bool) {
			for i < len(pattern) && pattern[i] >= '0' && pattern[i] <= '9' && n < 1<<16 {
				n, some = n*10+int(pattern[i]-'0'), true
				i++
			}
			return n, some
		}
		width, left := 0, false
		n, some := digits()
		place := next
		if some && i < len(pattern) && pattern[i] == '$' {
			place, some = n, false
			i++
			n = 0
		}
		if i < len(pattern) && pattern[i] == '-' {
			left = true
			i++
		}
		if !some {
			n, _ = digits()
		}
		width = n
		if i >= len(pattern) {
			return nil, sqlerr.New(sqlerr.InvalidParam, "unterminated format() type specifier").WithHint(`For a single "%%" use "%%%%".`)
		}
		kind := pattern[i]
		if kind == '%' {
			b.WriteByte('%')
			continue
		}
		if place < 1 || place >= len(a) {
			return nil, sqlerr.New(sqlerr.InvalidParam, "too few arguments for format()")
		}
		next = place + 1
		text, null := "", a[place] == nil
		if !null {
			var err error
			if text, err = s.text(a[place], t[place]); err != nil {
				return nil, err
			}
		}
		switch {
		case kind == 's':
		case kind == 'I' && null:
			return nil, sqlerr.New(sqlerr.NullValue, "null values cannot be formatted as an SQL identifier")
		case kind == 'I':
			text = quoteIdent(text)
		case kind == 'L' && null:
			text = "NULL"
		case kind == 'L':
			text = quoteLiteral(text)
		default:
			return nil, sqlerr.New(sqlerr.InvalidParam, "unrecognized format() type specifier \"%c\"", kind).WithHint(`For a single "%%" use "%%%%".`)
		}
		if pad := width - len([]rune(text)); pad > 0 && left {
			text += strings.Repeat(" ", pad)
		} else if pad > 0 {
			text = strings.Repeat(" ", pad) + text
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// sleep is pg_sleep: it ends with the statement.
func sleep(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
	seconds := a[0].(float64)
	if !(seconds > 0) {
		return "", nil
	}
	timer := time.NewTimer(time.Duration(min(seconds, 1e6) * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return "", nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}
