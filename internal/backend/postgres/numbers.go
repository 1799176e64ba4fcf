package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

var _ backend.NumbersTx = (*tx)(nil)

// cellReader reads one non-NULL value in binary form into cells. ok is false for an array of another length or with NULL in it; its errors hold no value.
type cellReader func(b []byte, into []int64) (ok bool, err error)

// QueryNumbers runs one statement and reads its rows straight from their binary form into blocks.
func (t *tx) QueryNumbers(ctx context.Context, text string, args []backend.Arg, want []backend.NumberColumn) (secret.NumberRows, error) {
	r, fields, err := t.open(ctx, text, args)
	if err != nil {
		return nil, err
	}
	out := &numbers{rows: r, most: backend.BlockRows(want)}
	if out.read, err = cellReaders(fields, want); err != nil {
		r.Close()
		return nil, backend.NewError(backend.FailOther, "columns", err)
	}
	width := 0
	for _, c := range want {
		out.at = append(out.at, width)
		width += c.Cells()
	}
	out.at = append(out.at, width)
	out.block = secret.Numbers{Cells: make([]int64, out.most*width), Null: make([]bool, out.most*len(want))}
	t.rows = r
	return out, nil
}

// numbers is an answer in blocks.
type numbers struct {
	*rows
	read  []cellReader
	at    []int // where a column's cells begin in a row, and how many a row has
	most  int
	block secret.Numbers
}

// Next reads as many rows as a block has.
func (r *numbers) Next() bool {
	n, columns, width := &r.block, len(r.read), r.at[len(r.read)]
	n.Rows = 0
	n.Cells, n.Null = n.Cells[:cap(n.Cells)], n.Null[:cap(n.Null)]
	for !r.done && n.Rows < r.most {
		if !r.under.NextRow() {
			r.finish()
			break
		}
		cells, null := n.Cells[n.Rows*width:(n.Rows+1)*width], n.Null[n.Rows*columns:(n.Rows+1)*columns]
		for i, b := range r.under.Values() {
			if b == nil {
				null[i] = true
				continue
			}
			ok, err := r.read[i](b, cells[r.at[i]:r.at[i+1]])
			null[i] = !ok || err != nil // an unreadable number is NULL: a failure would tell of a row
		}
		n.Rows++
	}
	n.Cells, n.Null = n.Cells[:n.Rows*width], n.Null[:n.Rows*columns]
	return n.Rows > 0 && r.err == nil
}

// Block is valid until the next call of Next.
func (r *numbers) Block() secret.Value { return secret.Of(&r.block) }

// Close ends the reading.
func (r *numbers) Close() {
	r.rows.Close()
	clear(r.block.Cells[:cap(r.block.Cells)])
}

// cellReaders checks the answer's columns before a row is read.
func cellReaders(fields []pgconn.FieldDescription, want []backend.NumberColumn) ([]cellReader, error) {
	if len(fields) != len(want) {
		return nil, fmt.Errorf("postgres: %d columns came, %d were wanted", len(fields), len(want))
	}
	out := make([]cellReader, len(want))
	for i, f := range fields {
		got := sqltype.Type{OID: sqltype.OID(f.DataTypeOID), Typmod: f.TypeModifier}
		if out[i] = cellReaderFor(got, want[i]); out[i] == nil {
			return nil, fmt.Errorf("postgres: column %d is %s and cannot be read as numbers", i+1, got)
		}
	}
	return out, nil
}

func cellReaderFor(got sqltype.Type, want backend.NumberColumn) cellReader {
	switch {
	case want.Width == 0:
		return scalarCell(got, want.Float())
	case got.OID == sqltype.OIDBytea && want.Type.OID == sqltype.OIDBytea:
		return bytesCells
	case got.IsArray():
		elem, _ := got.Elem()
		if read := scalarCell(elem, want.Float()); read != nil {
			return arrayCells(elem.OID, read)
		}
	}
	return nil
}

// scalarCell reads a number as an integer, or as a float's bits.
func scalarCell(got sqltype.Type, float bool) cellReader {
	be := binary.BigEndian
	switch got.OID {
	case sqltype.OIDFloat4, sqltype.OIDFloat8, sqltype.OIDNumeric:
		if !float {
			return nil
		}
	default:
		if float {
			return nil
		}
	}
	switch got.OID {
	case sqltype.OIDBool:
		return func(b []byte, into []int64) (bool, error) {
			if len(b) != 1 {
				return false, errLength
			}
			into[0] = int64(b[0])
			return true, nil
		}
	case sqltype.OIDInt2:
		return func(b []byte, into []int64) (bool, error) {
			if len(b) != 2 {
				return false, errLength
			}
			into[0] = int64(int16(be.Uint16(b))) //nolint:gosec // its sign
			return true, nil
		}
	case sqltype.OIDInt4, sqltype.OIDDate:
		return func(b []byte, into []int64) (bool, error) {
			if len(b) != 4 {
				return false, errLength
			}
			into[0] = int64(int32(be.Uint32(b))) //nolint:gosec // its sign
			return true, nil
		}
	case sqltype.OIDInt8, sqltype.OIDTimestamp, sqltype.OIDTimestamptz, sqltype.OIDFloat8:
		return func(b []byte, into []int64) (bool, error) {
			if len(b) != 8 {
				return false, errLength
			}
			into[0] = int64(be.Uint64(b)) //nolint:gosec // bits
			return true, nil
		}
	case sqltype.OIDFloat4:
		return func(b []byte, into []int64) (bool, error) {
			if len(b) != 4 {
				return false, errLength
			}
			into[0] = int64(math.Float64bits(float64(math.Float32frombits(be.Uint32(b))))) //nolint:gosec // bits
			return true, nil
		}
	case sqltype.OIDNumeric:
		return func(b []byte, into []int64) (bool, error) {
			x, err := numericFloat(b)
			into[0] = int64(math.Float64bits(x)) //nolint:gosec // bits
			return true, err
		}
	}
	return nil
}

func bytesCells(b []byte, into []int64) (bool, error) {
	if len(b) != len(into) {
		return false, nil
	}
	for i, c := range b {
		into[i] = int64(c)
	}
	return true, nil
}

// arrayCells reads an array of one dimension that begins at 1.
func arrayCells(elem sqltype.OID, read cellReader) cellReader {
	be := binary.BigEndian
	return func(b []byte, into []int64) (bool, error) {
		if len(b) < 12 || sqltype.OID(be.Uint32(b[8:])) != elem {
			return false, errLength
		}
		dims := be.Uint32(b)
		if b = b[12:]; dims != 1 {
			return false, nil
		}
		if len(b) < 8 {
			return false, errLength
		}
		count, lower := be.Uint32(b), be.Uint32(b[4:])
		if b = b[8:]; int64(count) != int64(len(into)) || lower != 1 {
			return false, nil
		}
		for i := range into {
			if len(b) < 4 {
				return false, errLength
			}
			n := int(int32(be.Uint32(b))) //nolint:gosec // -1 is NULL
			if b = b[4:]; n < 0 {
				return false, nil
			}
			if n > len(b) {
				return false, errLength
			}
			if _, err := read(b[:n], into[i:i+1]); err != nil {
				return false, err
			}
			b = b[n:]
		}
		return true, nil
	}
}

const (
	numericNaN  = 0xC000
	numericPInf = 0xD000
	numericNInf = 0xF000
)

// numericFloat is a numeric as a float: the nearest one, of up to 15 digits.
func numericFloat(b []byte) (float64, error) {
	be := binary.BigEndian
	if len(b) < 8 {
		return 0, errLength
	}
	digits, weight, sign := int(be.Uint16(b)), int(int16(be.Uint16(b[2:]))), be.Uint16(b[4:]) //nolint:gosec // its sign
	switch sign {
	case numericNaN:
		return math.NaN(), nil
	case numericPInf:
		return math.Inf(1), nil
	case numericNInf:
		return math.Inf(-1), nil
	case numericPos, numericNeg:
	default:
		return 0, errors.New("a numeric of another form")
	}
	if len(b) != 8+2*digits {
		return 0, errLength
	}
	const enough = 5 // digits of base 10000: what follows is below a float's precision
	x, n := 0.0, min(digits, enough)
	for i := range n {
		x = x*10_000 + float64(be.Uint16(b[8+2*i:]))
	}
	if exponent := 4 * (weight - n + 1); exponent >= 0 {
		x *= math.Pow10(exponent)
	} else {
		x /= math.Pow10(-exponent)
	}
	if sign == numericNeg {
		x = -x
	}
	return x, nil
}
