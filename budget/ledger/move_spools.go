package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// moveSpools copies the spools of the stored releases, each held against its record. It comes last: the new place has the records by then, and whoever finds a spool missing there is told so. One that is
// there already is left, so that a move that was cut here is finished by moving again.
func moveSpools(ctx context.Context, old *book, to Place) error {
	into, err := to.spools()
	if err != nil {
		return err
	}
	now := old.time()
	for _, refs := range old.state.releases.stored {
		for _, ref := range refs {
			if ref.spool == nil || !ref.expires.After(now) {
				continue
			}
			if err := errors.Join(ctx.Err(), moveSpool(old.spools, into, ref)); err != nil {
				return fmt.Errorf("ledger: the spool of reservation %d was not moved: %w: move again to finish", ref.reservation, err)
			}
		}
	}
	return nil
}

func moveSpool(from, into spools, ref storedRef) error {
	id := ref.reservation
	switch there, err := into.open(id); {
	case err == nil:
		reason, err := heldAgainst(there, *ref.spool)
		if err := errors.Join(err, there.Close()); err != nil || reason == "" {
			return err
		}
		if err := into.remove(id); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	f, err := from.open(id)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	switch reason, err := heldAgainst(f, *ref.spool); {
	case err != nil:
		return err
	case reason != "":
		return &BrokenRelease{Seq: ref.seq, Reason: reason}
	}
	copied, _, err := into.create(id)
	if err != nil {
		return err
	}
	if _, err = io.Copy(io.NewOffsetWriter(copied, 0), io.NewSectionReader(f, 0, ref.spool.Bytes)); err == nil {
		err = into.keep(id, copied, *ref.spool)
	}
	return errors.Join(err, copied.Close())
}
