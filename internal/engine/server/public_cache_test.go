package server

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
)

// TestUnreadPublicLogged: the log names the public table that could not be read and the cause, and never a database's own words.
func TestUnreadPublicLogged(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("read: %w", backend.ErrSchema), `level=WARN msg="the database's schema changed while a public table was read: the statement was refused, and nothing was spent" table="cities, codes"`},
		{errors.New("no connection is free"), `table="cities, codes" class=*errors.errorString cause="no connection is free"`},
		{backend.NewError(backend.FailOther, "42501", errors.New("secret words")), `table="cities, codes" class=` + string(backend.FailOther) + ` code=42501`},
	} {
		var log strings.Builder
		logUnreadPublic(slog.New(slog.NewTextHandler(&log, nil)), "cities, codes", c.err)
		if !strings.Contains(log.String(), c.want) || strings.Contains(log.String(), "secret words") {
			t.Errorf("%v: %s", c.err, &log)
		}
	}
}
