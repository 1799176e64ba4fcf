package proxy

import (
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// extended serves one message of the extended protocol. After an error everything up to Sync is skipped.
func (s *connection) extended(msg pgproto3.FrontendMessage) error {
	var text string
	var err error
	switch m := msg.(type) {
	case *pgproto3.Parse:
		text = m.Query
		s.asks(text)
		err = s.parseMessage(m)
	case *pgproto3.Bind:
		text, err = s.bind(m)
	case *pgproto3.Describe:
		err = s.describe(m)
	case *pgproto3.Execute:
		text, err = s.execute(m)
	case *pgproto3.Close:
		err = s.closeMessage(m)
	case *pgproto3.Flush:
		return s.flush()
	}
	if err == errQuiet {
		return err
	}
	if err != nil {
		s.fail(err, text)
		s.cycle.skipping = true
		return s.flush() // a client that asked for it by Flush waits for it before it sends Sync
	}
	return nil
}

// sync ends the messages since the last one, and with them the implicit transaction.
func (s *connection) sync() error {
	s.cycle.skipping = false
	s.endImplicit()
	return s.ready()
}

func (s *connection) parseMessage(m *pgproto3.Parse) error {
	if err := validName(m.Name); err != nil {
		return err
	}
	if m.Name == "" { // also where the new one fails
		s.kept.statements.drop("")
	}
	s.beginImplicit()
	parsed, err := s.parse(m.Query)
	if err != nil {
		return err
	}
	if len(parsed) > 1 {
		return sqlerr.New(sqlerr.Syntax, "cannot insert multiple commands into a prepared statement")
	}
	st := parsed[0]
	_, empty := st.Node.(*pgsyntax.Empty)
	if s.tx.failed() && !empty && !endsTransaction(st.Node) {
		return errAborted()
	}
	oids := make([]sqltype.OID, len(m.ParameterOIDs))
	for i, oid := range m.ParameterOIDs {
		oids[i] = sqltype.OID(oid)
	}
	p, err := s.prepare(st, m.Query, oids)
	if err != nil {
		return err
	}
	if err := s.kept.keepStatement(m.Name, p); err != nil {
		return err
	}
	s.wire.send(&pgproto3.ParseComplete{})
	return nil
}

func validName(name string) error { return sqltype.ValidText([]byte(name)) }

// bind makes a portal of a statement and its arguments, and gives the statement's text for positions.
func (s *connection) bind(m *pgproto3.Bind) (string, error) {
	if err := validName(m.DestinationPortal + m.PreparedStatement); err != nil {
		return "", err
	}
	st, err := s.kept.findStatement(m.PreparedStatement)
	if err != nil {
		return "", err
	}
	s.beginImplicit()
	if n := len(m.ParameterFormatCodes); n > 1 && n != len(m.Parameters) {
		return "", protocolError("bind message has %d parameter formats but %d parameters", n, len(m.Parameters))
	}
	if len(m.Parameters) != len(st.params) {
		return "", protocolError("bind message supplies %d parameters, but prepared statement \"%s\" requires %d", len(m.Parameters), m.PreparedStatement, len(st.params))
	}
	if s.tx.failed() && (!endsTransaction(st.node) || len(st.params) > 0) {
		return "", errAborted()
	}
	if _, taken := s.kept.portals.get(m.DestinationPortal); taken && m.DestinationPortal != "" {
		return "", cursorExists(m.DestinationPortal)
	}
	if err := s.kept.roomForPortal(); err != nil {
		return "", err
	}
	st = s.fresh(st)
	args, err := decodeArgs(m, st, s.set.formats(), s.charset())
	if err != nil {
		return st.text, err
	}
	formats, err := resultFormats(m.ResultFormatCodes, st)
	if err != nil {
		return "", err
	}
	p := &portal{name: m.DestinationPortal, statement: st, args: args, formats: formats, depth: len(s.tx.saves), made: time.Now(), bytes: st.bytes + argBytes(m)}
	s.kept.portals.drop(p.name)
	if err := s.kept.keep(p.size()); err != nil {
		return "", err
	}
	s.kept.portals.put(p.name, p)
	s.wire.send(&pgproto3.BindComplete{})
	return "", nil
}

func decodeArgs(m *pgproto3.Bind, st *statement, set sqltype.Settings, c *charset) ([]sqltype.Value, error) {
	args := make([]sqltype.Value, len(m.Parameters))
	for i, raw := range m.Parameters {
		format := formatOf(m.ParameterFormatCodes, i)
		if format != sqltype.TextFormat && format != sqltype.BinaryFormat {
			return nil, sqlerr.New(sqlerr.InvalidParam, "unsupported format code: %d", format)
		}
		if raw == nil {
			continue
		}
		raw, err := translated(raw, st.params[i], format, c.decode)
		if err != nil {
			return nil, err
		}
		v, err := set.Decode(raw, st.params[i], format)
		if e, ok := err.(*sqlerr.Error); ok {
			e.Pos = 0 // a position in the parameter is none in the statement
			if sqlerr.InvalidBinary.ID == e.ID {
				return nil, sqlerr.New(sqlerr.InvalidBinary, "incorrect binary data format in bind parameter %d", i+1).WithDetail("%s", e.Message)
			}
		}
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	return args, nil
}

func resultFormats(codes []int16, st *statement) ([]int16, error) {
	if !st.rows {
		return nil, nil
	}
	if n := len(codes); n > 1 && n != len(st.columns) {
		return nil, protocolError("bind message has %d result formats but query has %d columns", n, len(st.columns))
	}
	for _, c := range codes {
		if c != sqltype.TextFormat && c != sqltype.BinaryFormat {
			return nil, sqlerr.New(sqlerr.InvalidParam, "unsupported format code: %d", c)
		}
	}
	return append([]int16(nil), codes...), nil
}

// describe tells types of a statement or a portal. It runs nothing.
func (s *connection) describe(m *pgproto3.Describe) error {
	if err := validName(m.Name); err != nil {
		return err
	}
	var st *statement
	var formats []int16
	switch m.ObjectType {
	case 'S':
		var err error
		if st, err = s.kept.findStatement(m.Name); err != nil {
			return err
		}
	case 'P':
		p, err := s.kept.findPortal(m.Name)
		if err != nil {
			return err
		}
		st, formats = p.statement, p.formats
	default:
		return protocolError("invalid DESCRIBE message subtype %d", m.ObjectType)
	}
	s.beginImplicit()
	if s.tx.failed() && st.rows {
		return errAborted()
	}
	if m.ObjectType == 'S' {
		oids := make([]uint32, len(st.params))
		for i, p := range st.params {
			oids[i] = uint32(p.OID)
		}
		s.wire.send(&pgproto3.ParameterDescription{ParameterOIDs: oids})
	}
	if st.rows {
		s.wire.send(s.rowDescription(st.columns, formats))
	} else {
		s.wire.send(&pgproto3.NoData{})
	}
	return nil
}

// execute runs a portal, or goes on with it, and gives its statement's text for positions.
func (s *connection) execute(m *pgproto3.Execute) (string, error) {
	if err := validName(m.Portal); err != nil {
		return "", err
	}
	p, err := s.kept.findPortal(m.Portal)
	if err != nil {
		return "", err
	}
	if _, empty := p.statement.node.(*pgsyntax.Empty); empty {
		s.wire.send(&pgproto3.EmptyQueryResponse{})
		return "", nil
	}
	s.asks(p.statement.text)
	s.beginImplicit()
	if s.tx.failed() && (p.broken || !endsTransaction(p.statement.node)) {
		return "", errAborted()
	}
	if err := s.executePortal(p, int(int32(m.MaxRows))); err != nil {
		return p.statement.text, err
	}
	if d, ok := p.statement.node.(*pgsyntax.Discard); ok && d.What == "ALL" {
		s.endImplicit() // as what cannot run in a block is committed at once: an error up to the Sync does not take it back
	}
	return "", nil
}

// closeMessage forgets a statement or a portal; what does not exist is closed already.
func (s *connection) closeMessage(m *pgproto3.Close) error {
	switch m.ObjectType {
	case 'S':
		s.kept.statements.drop(m.Name)
	case 'P':
		s.kept.portals.drop(m.Name)
	default:
		return protocolError("invalid CLOSE message subtype %d", m.ObjectType)
	}
	s.wire.send(&pgproto3.CloseComplete{})
	return nil
}
