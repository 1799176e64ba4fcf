package release

import (
	"encoding/json"
	"fmt"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// Scale is a released bound of the rows that one unit changes, by itself: what was run, and the edge.
type Scale struct {
	Event dp.SmoothScale
	Edge  int
}

// DecodeScale reads a stored release of joined rows for the sake of its scale.
func DecodeScale(text []byte) (Scale, error) {
	var s struct {
		Version int           `json:"version"`
		Events  ledger.Events `json:"events"`
		Chosen  []int         `json:"chosen"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return Scale{}, fmt.Errorf("release: stored form: %w", err)
	}
	if s.Version != storedVersion || len(s.Events) == 0 || len(s.Chosen) != 1 || s.Chosen[0] < 0 {
		return Scale{}, errShape
	}
	ev, ok := s.Events[0].(dp.SmoothScale)
	if !ok {
		return Scale{}, errShape
	}
	return Scale{ev, s.Chosen[0]}, nil
}
