package model

import (
	"encoding/base64"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/mlext"
)

// exports are the forms in which EXPORT gives a model: post-processing of what was released.
var exports = map[string]struct {
	result sqltype.Type
	value  func(*mlext.Model) (sqltype.Value, error)
}{
	"json": {sqltype.Text, func(m *mlext.Model) (sqltype.Value, error) {
		b, err := m.Export()
		return string(b), err
	}},
	"onnx": {sqltype.Bytea, func(m *mlext.Model) (sqltype.Value, error) {
		b, err := m.ONNX()
		return sqltype.Bytes(b), err
	}},
	"onnx_base64": {sqltype.Text, func(m *mlext.Model) (sqltype.Value, error) { // for shells: psql -At | base64 -d
		b, err := m.ONNX()
		return base64.StdEncoding.EncodeToString(b), err
	}},
}
