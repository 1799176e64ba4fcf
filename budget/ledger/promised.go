package ledger

import (
	"context"
	"fmt"
	"time"
)

// Promised compares a head with what the data set promises by now, whichever process raised it.
func (l *book) Promised(ctx context.Context, asked Head) error {
	asked, err := asked.own()
	if err != nil {
		return err
	}
	return l.do(&entry{ctx: ctx, read: true, decide: func(time.Time) ([]*Record, error) {
		d := l.state.find(asked.Dataset)
		if d == nil {
			return nil, fmt.Errorf("%w: data set %q was never served from it", ErrMismatch, asked.Dataset)
		}
		return nil, d.head.accepts(asked)
	}})
}
