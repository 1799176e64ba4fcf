package proxy

import (
	"encoding/binary"
	"math"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
)

// copySignature begins binary copies: PostgreSQL's, no flags, no extension.
const copySignature = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// copyOut sends rows as COPY does: a message a row. The binary head leaves with the first row, as PostgreSQL sends it.
func (s *connection) copyOut(columns []answer.Column, answer *answer.Answer, o *copyOptions, force []bool) (n int, err error) {
	format := o.columnFormat()
	codes := make([]uint16, len(columns))
	for i := range codes {
		codes[i] = uint16(format) //nolint:gosec // 0 or 1
	}
	s.wire.send(&pgproto3.CopyOutResponse{OverallFormat: byte(format), ColumnFormatCodes: codes}) //nolint:gosec // 0 or 1
	var line []byte
	if o.format == "binary" {
		line = append(line, copySignature...)
	}
	if o.header {
		for i, c := range columns {
			name, err := o.textOf([]byte(clean(c.Name)))
			if err != nil {
				return 0, err
			}
			line = o.field(o.between(line, i), name, false, len(columns) == 1)
		}
		s.wire.send(&pgproto3.CopyData{Data: append(line, '\n')})
		line = line[:0]
	}
	formatting := s.set.formats()
	var value []byte
	n, err = s.eachRow(answer, func(row []sqltype.Value) error {
		if o.format == "binary" {
			line = binary.BigEndian.AppendUint16(line, uint16(len(columns))) //nolint:gosec // few
		}
		for i, c := range columns {
			line = o.between(line, i)
			if row[i] == nil {
				line = o.nothing(line)
				continue
			}
			var err error
			if value, err = formatting.Encode(row[i], c.Type, format, value[:0]); err != nil {
				return err
			}
			if line, err = o.value(line, value, c.Type, force[i], len(columns) == 1); err != nil {
				return err
			}
		}
		if o.format != "binary" {
			line = append(line, '\n')
		}
		s.wire.send(&pgproto3.CopyData{Data: line})
		line = line[:0]
		return s.relieve()
	})
	if err != nil {
		return n, err
	}
	if o.format == "binary" {
		s.wire.send(&pgproto3.CopyData{Data: binary.BigEndian.AppendUint16(line, math.MaxUint16)})
	}
	s.wire.send(&pgproto3.CopyDone{})
	return n, nil
}

// between writes what stands before field i.
func (o *copyOptions) between(line []byte, i int) []byte {
	if i > 0 && o.format != "binary" {
		line = append(line, o.delim)
	}
	return line
}

func (o *copyOptions) nothing(line []byte) []byte {
	if o.format == "binary" {
		return binary.BigEndian.AppendUint32(line, math.MaxUint32)
	}
	return append(line, o.null...)
}

// value writes one encoded value.
func (o *copyOptions) value(line, v []byte, t sqltype.Type, force, single bool) ([]byte, error) {
	if o.format != "binary" {
		v, err := o.textOf(v)
		return o.field(line, v, force, single), err
	}
	if o.set != nil {
		var err error
		if v, err = translated(v, t, sqltype.BinaryFormat, o.textOf); err != nil {
			return line, err
		}
	}
	line = binary.BigEndian.AppendUint32(line, uint32(len(v))) //nolint:gosec // as long as a message at most
	return append(line, v...), nil
}

// field writes one text, escaped or quoted.
func (o *copyOptions) field(line, v []byte, force, single bool) []byte {
	if o.format == "csv" {
		return o.quoted(line, v, force, single)
	}
	for _, c := range v {
		switch c {
		case '\b', '\f', '\n', '\r', '\t', '\v':
			line = append(line, '\\', "btnvfr"[c-'\b'])
		case '\\', o.delim:
			line = append(line, '\\', c)
		default:
			line = append(line, c)
		}
	}
	return line
}

// quoted writes a field of CSV, in quotes where it could be read as something else.
func (o *copyOptions) quoted(line, v []byte, force, single bool) []byte {
	force = force || string(v) == o.null || single && string(v) == `\.`
	for _, c := range v {
		force = force || c == o.delim || c == o.quote || c == '\n' || c == '\r'
	}
	if !force {
		return append(line, v...)
	}
	line = append(line, o.quote)
	for _, c := range v {
		if c == o.quote || c == o.escape {
			line = append(line, o.escape)
		}
		line = append(line, c)
	}
	return append(line, o.quote)
}
