package eval

import "github.com/dpsql/dpsql/internal/base/sqltype"

// jsonList is json_agg of JSON, NULL too; the second argument stands between two values.
type jsonList struct {
	typ  sqltype.Type
	text []byte
}

func (a *jsonList) add(m *machine, args []sqltype.Value) error {
	value := "null"
	if v, ok := args[0].(sqltype.JSON); ok {
		value = string(v)
	}
	between := "["
	if a.text != nil {
		between = args[1].(string)
	}
	a.text = append(append(a.text, between...), value...)
	return m.gather(len(between) + len(value))
}

func (a *jsonList) result(m *machine) (sqltype.Value, error) {
	if a.text == nil {
		return nil, nil
	}
	if err := m.make(len(a.text)); err != nil {
		return nil, err
	}
	return sqltype.ParseText(string(a.text)+"]", a.typ)
}
