package stage

import (
	"slices"
	"testing"
)

// TestEitherLeavesItsList: columns are named once each, and the list that they come from stays as it is for what names them next.
func TestEitherLeavesItsList(t *testing.T) {
	list := []string{"b", "a", "b"}
	if got := either(list); got != "a or b" || !slices.Equal(list, []string{"b", "a", "b"}) {
		t.Errorf("%q of %q", got, list)
	}
}
