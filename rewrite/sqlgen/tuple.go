package sqlgen

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// mostPart is how many bytes of a value a tuple's text takes as they are.
const mostPart = 1000

// tuple prints values as one text that is equal for equal values: each in canonical form, with its length before it, and N for NULL. In place of a long one its MD5 stands, so that no text
// grows beyond what a backend can hold. Bounds rest on its being a function of the row, whichever values it tells apart.
func (w *private) tuple(t *plan.Tuple) string {
	parts := make([]string, len(t.Items))
	for i, x := range t.Items {
		text := w.asText(w.canonicalKey(w.scalar(x, w.f, stored), x.Type()), x)
		length := w.d.ByteLength(text)
		parts[i] = fmt.Sprintf("CASE WHEN %s IS NULL THEN 'N' WHEN %s > %d THEN 'H' || %s(%s) ELSE %s || ':' || %s END", text, length, mostPart, w.fn("md5"), text, w.d.AsText(length), text)
	}
	return w.binary("("+strings.Join(parts, " || ")+")", sqltype.Text)
}

// asText prints a canonical value as text that is its own; that of bytes may be longer than a backend can hold.
func (w *private) asText(x string, of plan.Scalar) string {
	switch of.Type().OID {
	case sqltype.OIDBytea:
		return w.fn("md5") + "(" + x + ")"
	case sqltype.OIDText, sqltype.OIDVarchar:
		return x
	}
	return w.d.AsText(x)
}

// held keeps the values that relations have as a condition on them says.
func (w *private) held(h *plan.Held, from string, keys []string) string {
	list := make([]string, len(keys))
	group := make([]string, len(keys)+1)
	for i, k := range keys {
		list[i] = fmt.Sprintf(`%s AS "k%d"`, k, i+1)
	}
	for i := range group {
		group[i] = fmt.Sprint(i + 1)
	}
	having := h.Text(func(n int64) string { return fmt.Sprintf(`%s("g"."s" = %d)`, w.fn("bool_or"), n) })
	return fmt.Sprintf(`(SELECT %s FROM %s GROUP BY %s HAVING %s) AS "g"`, strings.Join(append(list, `"g"."v" AS "v"`), ", "), from, strings.Join(group, ", "), having)
}
