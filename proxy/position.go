package proxy

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// A portal's place among its rows is kept as PostgreSQL keeps it: next rows were passed; atEnd says that the one behind the last
// was asked for, begun that some row was given since the start.

// forward gives the next count rows and goes behind them.
func (p *portal) forward(count int) [][]sqltype.Value {
	if p.atEnd || count == 0 {
		return nil
	}
	if p.more != nil {
		p.pull(count)
	}
	rows := p.answer.Rows[p.next-p.passed:]
	if count != allRows && count <= len(rows) {
		rows = rows[:count]
	} else {
		p.atEnd = true
	}
	p.next += len(rows)
	p.begun = p.begun || len(rows) > 0
	return rows
}

// backward gives the count rows before the present one, the last first.
func (p *portal) backward(count int) ([][]sqltype.Value, error) {
	if !p.scroll {
		return nil, onlyForward()
	}
	if !p.begun || count == 0 {
		return nil, nil
	}
	before := p.next - 1 // rows
	if p.atEnd {
		before = p.next
	}
	n := before
	if count != allRows {
		n = min(count, before)
	}
	rows := slices.Clone(p.answer.Rows[before-n : before])
	slices.Reverse(rows)
	p.next = before - n + 1
	if n > 0 {
		p.atEnd = false
	}
	if count == allRows || n < count {
		p.begun, p.next = false, 0
	}
	return rows, nil
}

// rewind goes before the first row.
func (p *portal) rewind() error {
	if !p.begun && !p.atEnd {
		return nil
	}
	if !p.scroll {
		return onlyForward()
	}
	p.begun, p.atEnd, p.next = false, false, 0
	return nil
}

func onlyForward() error {
	return sqlerr.New(sqlerr.PortalState, "cursor can only scan forward").WithHint("Declare it with SCROLL option to enable backward scan.")
}

// step is one of several moves of which only the last one's rows are wanted.
func (p *portal) step(count int, back bool) ([][]sqltype.Value, error) {
	if back {
		return p.backward(count)
	}
	return p.forward(count), nil
}

// fetch is FETCH's and MOVE's part (PostgreSQL's DoPortalRunFetch). A MOVE's n may be without rows.
func (p *portal) fetch(direction string, count int, move bool) (rows [][]sqltype.Value, n int, err error) {
	back := direction == "BACKWARD"
	switch direction {
	case "FIRST", "LAST", "ABSOLUTE":
		rows, err = p.absolute(count)
		return rows, len(rows), err
	case "RELATIVE":
		if back = count < 0; back {
			count = -count
		}
		if count > 0 {
			if count > 1 {
				if _, err = p.step(count-1, back); err != nil {
					return nil, 0, err
				}
			}
			rows, err = p.step(1, back)
			return rows, len(rows), err
		}
	}
	if count == 0 {
		on := p.begun && !p.atEnd
		switch {
		case move && on:
			return nil, 1, nil
		case !on:
			if back && !move {
				_, err = p.backward(0)
			}
			return nil, 0, err
		}
		if _, err = p.backward(1); err != nil { // to read the present row again
			return nil, 0, err
		}
		rows = p.forward(1)
		return rows, len(rows), nil
	}
	if back && count == allRows && move {
		if n = p.next; n > 0 && !p.atEnd {
			n--
		}
		return nil, n, p.rewind()
	}
	rows, err = p.step(count, back)
	return rows, len(rows), err
}

// absolute gives row count, from the end where it is negative.
func (p *portal) absolute(count int) ([][]sqltype.Value, error) {
	switch {
	case count > 0:
		if count-1 <= p.next/2 {
			if err := p.rewind(); err != nil {
				return nil, err
			}
			if count > 1 {
				p.forward(count - 1)
			}
			break
		}
		at := p.next
		if p.atEnd {
			at++
		}
		if count <= at {
			if _, err := p.backward(at - count + 1); err != nil {
				return nil, err
			}
		} else if count > at+1 {
			p.forward(count - at - 1)
		}
	case count < 0:
		p.forward(allRows)
		if count < -1 {
			if _, err := p.backward(-count - 1); err != nil {
				return nil, err
			}
		}
		return p.backward(1)
	default:
		return nil, p.rewind()
	}
	return p.forward(1), nil
}
