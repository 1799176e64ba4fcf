//go:build !race

package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A move that is cut at any step, of a ledger that has a data mark and no mark, lets no server begin a new one in the new place, and the old one be served until it has departed.
func TestDataMarksOfCutMoves(t *testing.T) {
	t.Parallel()
	for _, kinds := range [][2]string{{"sqlite", "postgres"}, {"postgres", "sqlite"}, {"sqlite", "sqlite"}} {
		for _, at := range []string{"marked", "verified", "staged", "compared", "departed", "published"} {
			opt, from, to := withData(t.TempDir()), newPath(t, kinds[0]), newPath(t, kinds[1])
			l := open(t, from, demoHead(t), opt)
			must(l.Reserve(ctx, count(t, l.Filter(), "ann", 0.5, 0.1)))(t)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			by := mover
			by.Folder = filepath.Dir(opt.Data[0].Path)
			if _, err := move(ctx, placeOf(from), placeOf(to), by, func(step string) error {
				if step == at {
					return errCut
				}
				return nil
			}); !errors.Is(err, errCut) {
				t.Fatal(err)
			}
			if err := os.Remove(placeOf(to).mark() + MarkSuffix); err != nil { // the data mark alone must do
				t.Fatal(err)
			}
			l, err := openAt(to, demoHead(t), opt)
			if at == "published" != (err == nil) || err != nil && !errors.Is(err, ErrOtherLedger) {
				t.Errorf("%v, %s: the new place: %v", kinds, at, err)
			}
			if err == nil {
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
			l, err = openAt(from, demoHead(t), opt)
			if departed := at == "departed" || at == "published"; departed != errors.Is(err, ErrMoved) || !departed && err != nil {
				t.Errorf("%v, %s: the old place: %v", kinds, at, err)
			}
			if err == nil {
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
			must(Move(ctx, placeOf(from), placeOf(to), by))(t)
			if err := opt.Data[0].CheckPlace(placeOf(to)); err != nil {
				t.Errorf("%v, %s: %v", kinds, at, err)
			}
			if err := open(t, to, demoHead(t), opt).Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
