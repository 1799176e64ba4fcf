package proxy

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/sqltype"
)

// rowDescription describes columns; formats are of a portal, nil for a statement.
func (s *session) rowDescription(columns []engine.Column, formats []int16) *pgproto3.RowDescription {
	c8 := s.charset()
	fields := make([]pgproto3.FieldDescription, len(columns))
	for i, c := range columns {
		fields[i] = pgproto3.FieldDescription{Name: []byte(c8.shown(clean(c.Name))), TableOID: c.TableOID, TableAttributeNumber: uint16(c.Attr), DataTypeOID: uint32(c.Type.OID),
			DataTypeSize: c.Type.Len(), TypeModifier: c.Type.Typmod, Format: formatOf(formats, i)}
	}
	return &pgproto3.RowDescription{Fields: fields}
}

// sendRows writes rows, flushing as they grow.
func (s *session) sendRows(columns []engine.Column, formats []int16, rows [][]sqltype.Value) error {
	formatting, set := s.set.formats(), s.charset()
	scratch := make([]byte, 0, 256) // not nil: an empty value is no NULL
	ends := make([]int, len(columns))
	msg := pgproto3.DataRow{Values: make([][]byte, len(columns))}
	for _, row := range rows {
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
			if err := set.values(msg.Values, columns, formats); err != nil {
				return err
			}
		}
		s.send(&msg)
		if err := s.relieve(); err != nil {
			return err
		}
	}
	return nil
}
