package secret_test

import (
	"fmt"
	"testing"

	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

type listed struct {
	rows [][]secret.Value
	at   int
}

func (l *listed) Next() bool          { l.at++; return l.at <= len(l.rows) }
func (l *listed) Row() []secret.Value { return l.rows[l.at-1] }
func (l *listed) Err() error          { return nil }
func (l *listed) Close()              {}

// TestReadable: a row with an unreadable value is left out, and no other.
func TestReadable(t *testing.T) {
	row := func(v ...sqltype.Value) []secret.Value {
		out := make([]secret.Value, len(v))
		for i, x := range v {
			out[i] = secret.Of(x)
		}
		return out
	}
	rows := secret.Readable(&listed{rows: [][]secret.Value{row(int64(1), nil), row(secret.Unreadable{}, int64(2)), row(int64(3), secret.Unreadable{}), row(nil, int64(4)), row(secret.Unreadable{}, nil)}})
	got := ""
	for rows.Next() {
		got += fmt.Sprint(secret.Open(rows.Row()[0]), " ", secret.Open(rows.Row()[1]), ", ")
	}
	if want := "1 <nil>, <nil> 4, "; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
