package sqltype

import (
	"strings"
	"unique"
)

// Enum says what an enum type is. Its labels are in the type's own order.
type Enum struct {
	OID, Array   OID // 0 for none
	Schema, Name string
	Labels       []string
}

// enumData is an Enum in comparable form: types of equal enums are equal, whoever described them.
type enumData struct {
	oid, array   OID
	schema, name string
	labels       string // each behind a NUL, which no label holds
}

type enumHandle struct{ unique.Handle[enumData] }

// EnumType is the enum's type; its values are strings, the labels.
func EnumType(e Enum) Type {
	var labels strings.Builder
	for _, l := range e.Labels {
		labels.WriteString("\x00" + l)
	}
	return Type{OID: e.OID, Typmod: -1, enum: enumHandle{unique.Make(enumData{e.OID, e.Array, e.Schema, e.Name, labels.String()})}}
}

// Enum tells the enum of a type that is one, or of an array of one.
func (t Type) Enum() (Enum, bool) {
	if t.enum == (enumHandle{}) {
		return Enum{}, false
	}
	d := t.enum.Value()
	e := Enum{OID: d.oid, Array: d.array, Schema: d.schema, Name: d.name}
	if d.labels != "" {
		e.Labels = strings.Split(d.labels[1:], "\x00")
	}
	return e, true
}

// IsEnum reports an enum.
func (t Type) IsEnum() bool { return t.enum != (enumHandle{}) && t.OID == t.enum.Value().oid }

// enumOrder is a label's place in the order, or -1.
func (t Type) enumOrder(label string) int {
	e, _ := t.Enum()
	for i, l := range e.Labels {
		if l == label {
			return i
		}
	}
	return -1
}
