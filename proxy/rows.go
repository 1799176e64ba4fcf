package proxy

import (
	"encoding/json"
	"strconv"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
)

// rowDescription describes columns; formats are of a portal, nil for a statement.
func (s *connection) rowDescription(columns []answer.Column, formats []int16) *pgproto3.RowDescription {
	c8 := s.charset()
	fields := make([]pgproto3.FieldDescription, len(columns))
	for i, c := range columns {
		fields[i] = pgproto3.FieldDescription{Name: []byte(c8.shown(clean(c.Name))), TableOID: c.TableOID, TableAttributeNumber: uint16(c.Attr), DataTypeOID: uint32(c.Type.OID),
			DataTypeSize: c.Type.Len(), TypeModifier: c.Type.Typmod, Format: formatOf(formats, i)}
	}
	if s.peer.inside {
		fields = append(fields, pgproto3.FieldDescription{Name: []byte("intervals"), DataTypeOID: uint32(sqltype.OIDJSON), DataTypeSize: -1, TypeModifier: -1})
	}
	return &pgproto3.RowDescription{Fields: fields}
}

// sender writes rows, flushing as they grow.
func (s *connection) sender(columns []answer.Column, formats []int16) func(row []sqltype.Value) error {
	formatting, set := s.set.formats(), s.charset()
	if s.peer.inside { // which reads times, and writes them as its user likes
		formatting.DateStyle = sqltype.DateISO
	}
	scratch := make([]byte, 0, 256) // not nil: an empty value is no NULL
	ends := make([]int, len(columns))
	msg := pgproto3.DataRow{Values: make([][]byte, len(columns))}
	if s.peer.inside {
		msg.Values = append(msg.Values, nil)
	}
	return func(row []sqltype.Value) error {
		scratch = scratch[:0]
		for i, c := range columns {
			if row[i] != nil {
				var err error
				if scratch, err = formatting.Encode(row[i], c.Type, formatOf(formats, i), scratch); err != nil {
					return err
				}
			}
			ends[i] = len(scratch)
		}
		start := 0
		for i, end := range ends {
			msg.Values[i] = nil
			if row[i] != nil {
				msg.Values[i] = scratch[start:end:end]
			}
			start = end
		}
		if set != nil {
			if err := set.values(msg.Values[:len(columns)], columns, formats); err != nil {
				return err
			}
		}
		if s.peer.inside {
			if msg.Values[len(columns)] = nil; len(row) > len(columns) {
				var err error
				if msg.Values[len(columns)], err = json.Marshal(row[len(columns)]); err != nil {
					return err
				}
			}
		}
		s.wire.send(&msg)
		return s.relieve()
	}
}

// sendRows writes rows.
func (s *connection) sendRows(columns []answer.Column, formats []int16, rows [][]sqltype.Value) error {
	send := s.sender(columns, formats)
	for _, row := range rows {
		if err := send(row); err != nil {
			return err
		}
	}
	return nil
}

// eachRow hands the rows of an answer over and tells how many there were. Those that memory does not hold are read as they are used; the client's cancel ends that. It closes the answer.
func (s *connection) eachRow(a *answer.Answer, use func(row []sqltype.Value) error) (n int, err error) {
	defer func() { _ = a.Close() }()
	for _, row := range a.Rows {
		if err := use(row); err != nil {
			return n, err
		}
		n++
	}
	if a.More == nil {
		return n, nil
	}
	ctx, done := s.running()
	defer done()
	for {
		row, ok, err := a.More.Next(ctx)
		switch {
		case err != nil:
			return n, runError(ctx, err)
		case !ok:
			s.warnings(a.More.Late())
			return n, nil
		}
		if err := use(row); err != nil {
			return n, err
		}
		n++
	}
}

// commandTag is the answer's tag for n rows sent.
func commandTag(a *answer.Answer, n int) string {
	if a.Tag == "SELECT" || a.Tag == "FETCH" {
		return a.Tag + " " + strconv.Itoa(n)
	}
	return a.Tag
}
