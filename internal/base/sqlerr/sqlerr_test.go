package sqlerr

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestRegistry: ids are unique words; each of our own codes stands for one kind; every code has PostgreSQL's form.
func TestRegistry(t *testing.T) {
	ids, own := map[string]bool{}, map[string]string{}
	for _, k := range Kinds() {
		if ids[k.ID] || !regexp.MustCompile(`^[a-z][a-z_]+$`).MatchString(k.ID) {
			t.Errorf("id %q is not a word of its own", k.ID)
		}
		ids[k.ID] = true
		if !regexp.MustCompile(`^[0-9A-Z]{5}$`).MatchString(k.Code) {
			t.Errorf("%s: %q is no SQLSTATE", k.ID, k.Code)
		}
		if k.Code[:2] == "PV" {
			if other := own[k.Code]; other != "" {
				t.Errorf("%s stands for %s and %s", k.Code, other, k.ID)
			}
			own[k.Code] = k.ID
		}
	}
	if len(own) < 10 {
		t.Errorf("only %d kinds of class PV", len(own))
	}
}

// TestCauseIsHidden: the cause can be unwrapped for the log, and is in no text.
func TestCauseIsHidden(t *testing.T) {
	cause := errors.New("value 42 of row 7")
	err := New(ResourceFailure, "the statement could not be completed").At(3).WithHint("h").WithDetail("d").WithCause(cause)
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	for _, text := range []string{err.Error(), fmt.Sprintf("%v", err), err.Message, err.Hint, err.Detail} {
		if regexp.MustCompile("42|row 7").MatchString(text) {
			t.Errorf("the cause is shown: %s", text)
		}
	}
	if err.Pos != 4 || ID(fmt.Errorf("wrapped: %w", err)) != ResourceFailure.ID {
		t.Errorf("%+v", err)
	}
}

// TestShort: an error repeats of a long text its beginning.
func TestShort(t *testing.T) {
	long := strings.Repeat("x", mostQuoted-1) + "ä" + strings.Repeat("x", 1<<20)
	err := New(InvalidText, "invalid input syntax for type %s: \"%s\"", "integer", long).WithDetail("%d of %s", 7, long)
	const want = "xxx..."
	if !strings.HasPrefix(err.Message, "invalid input syntax for type integer: \"xxx") || !strings.HasSuffix(err.Message, want+`"`) || !strings.HasPrefix(err.Detail, "7 of x") || !strings.HasSuffix(err.Detail, want) || len(err.Message)+len(err.Detail) > 2*mostQuoted+100 {
		t.Errorf("%.60q of %d bytes, %.60q of %d", err.Message, len(err.Message), err.Detail, len(err.Detail))
	}
}
