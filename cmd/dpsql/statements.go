package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/owner"
)

// fingerprint is how a statement's fingerprint begins, as the audit log and dpsql.ledger write it.
var fingerprint = regexp.MustCompile(`^[0-9a-f]{0,64}$`)

// Statements lists charges with what was asked, with the policy's key or the file's.
func (a alone) Statements(ctx context.Context, f ledger.StatementFilter) (owner.StatementsPage, error) {
	keys, err := server.TextKeys(a.policy, a.policy.Ledger.Beside)
	if err != nil {
		return owner.StatementsPage{}, err
	}
	a.SetTextKeys(keys)
	list, next, err := a.Ledger.Statements(ctx, a.policy.Dataset, f)
	return owner.StatementsPage{Charges: list, Next: next}, err
}

// showStatements writes the charges that a filter lets through, page by page.
func showStatements(ctx context.Context, w io.Writer, l ownersLedger, f ledger.StatementFilter, asJSON bool) error {
	f.Fingerprint = strings.ToLower(f.Fingerprint)
	if !fingerprint.MatchString(f.Fingerprint) {
		return fmt.Errorf("%q is no fingerprint: it is the audit log's \"statement\", or its first digits", f.Fingerprint)
	}
	found := false
	for {
		page, err := l.Statements(ctx, f)
		if err != nil {
			return err
		}
		found = found || len(page.Charges) > 0
		if !asJSON {
			err = owner.PrintStatements(w, page.Charges)
		}
		for _, a := range page.Charges {
			if asJSON && err == nil {
				err = printLine(w, a)
			}
		}
		if err != nil {
			return err
		}
		if f.After = page.Next; page.Next == 0 {
			break
		}
	}
	if !found {
		return errors.New("no charge is of such a statement: repeats of stored answers have none")
	}
	return nil
}
