package owner

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/dpsql/dpsql/internal/engine/watch/watches"
)

// Watches lists all analysts' watches, without what they compare with.
func (c *Client) Watches(ctx context.Context) (list []*watches.Watch, err error) {
	return list, c.call(ctx, http.MethodGet, "watches", nil, &list)
}

// PrintWatches writes watches for a terminal.
func PrintWatches(w io.Writer, list []*watches.Watch) error {
	for _, x := range list {
		_, err := fmt.Fprintf(w, "%s  %s  %s\n", Harmless(x.Owner), Harmless(x.Name), Harmless(x.State))
		if err == nil && x.Every > 0 { // else no key here opens it
			last := "no alert"
			if !x.LastAlert.IsZero() {
				last = fmt.Sprintf("%d of %d alerts, the last at %s UTC", x.Alerts, x.Times, x.LastAlert.UTC().Format(time.DateTime))
			}
			_, err = fmt.Fprintf(w, "    %s\n    threshold %d, every %s, price %g: %d looks, %s\n", strings.ReplaceAll(Harmless(x.Statement), "\n", "\n    "), x.Threshold, watches.IntervalText(x.Every), x.Price, x.Looks, last)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
