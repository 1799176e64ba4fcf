package owner

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/dpsql/dpsql/budget/ledger"
)

// StatementsPage is a page of charges with what was asked.
type StatementsPage struct {
	Charges []ledger.StatementCharge `json:"charges"`
	Next    int64                    `json:"next,omitempty"` // After of the next page; 0: this is the last
}

// Statements lists charges with what was asked, a page of them.
func (c *Client) Statements(ctx context.Context, f ledger.StatementFilter) (p StatementsPage, err error) {
	return p, c.call(ctx, http.MethodPost, "statements", f, &p)
}

// PrintStatements writes charges for a terminal. A statement of several releases is written once, below all of its charges.
func PrintStatements(w io.Writer, list []ledger.StatementCharge) error {
	for i, a := range list {
		_, err := fmt.Fprintf(w, "%s  %s  price %g  charge %d  %x\n", a.At.UTC().Format(time.DateTime), Harmless(a.Analyst), a.Price, a.Seq, a.Statement)
		if i+1 < len(list) && sameStatement(&a, &list[i+1]) {
			if err != nil {
				return err
			}
			continue
		}
		text := a.Text
		if a.Unread != "" {
			text = "(" + a.Unread + ")"
		}
		if a.Cut {
			text += "\n(parts of this text were cut and are not kept)"
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "    %s\n", strings.ReplaceAll(Harmless(text), "\n", "\n    "))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func sameStatement(a, b *ledger.StatementCharge) bool {
	return a.Text == b.Text && a.Analyst == b.Analyst && a.At.Equal(b.At) && a.Unread == b.Unread
}

// Harmless is a text that does nothing to a terminal, and is seen in its own order (no bidi characters): analysts write it, and owners read it.
func Harmless(text string) string {
	b := &strings.Builder{}
	for _, r := range strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text) { // each ends a line, and a comment
		if r == '\n' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else if r == '\t' {
			b.WriteByte(' ')
		} else {
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
	return b.String()
}
