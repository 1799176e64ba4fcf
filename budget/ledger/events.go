package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Events are events as data: a list of {"name", "event"}.
type Events []dp.Event

type namedEvent struct {
	Name  string          `json:"name"`
	Event json.RawMessage `json:"event"`
}

// eventTypes has the type of each event that a ledger can hold, by its name.
var eventTypes = func() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, e := range dp.Events() {
		types[e.Name()] = reflect.TypeOf(e)
	}
	return types
}()

// readEvent reads a valid event of a name.
func readEvent(name string, text []byte) (dp.Event, error) {
	t := eventTypes[name]
	if t == nil {
		return nil, fmt.Errorf("ledger: event %q is not one that a ledger holds", name)
	}
	into := reflect.New(t)
	if err := strict(text, into.Interface()); err != nil {
		return nil, err
	}
	e := into.Elem().Interface().(dp.Event)
	return e, e.Validate()
}

// MarshalJSON writes events that can be read back, and refuses others.
func (es Events) MarshalJSON() ([]byte, error) {
	out := make([]namedEvent, len(es))
	for i, e := range es {
		if e == nil {
			return nil, errors.New("ledger: no event")
		}
		text, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		if _, err := readEvent(e.Name(), text); err != nil {
			return nil, err
		}
		out[i] = namedEvent{e.Name(), text}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads valid, known events.
func (es *Events) UnmarshalJSON(text []byte) error {
	var in []namedEvent
	if err := strict(text, &in); err != nil {
		return err
	}
	out := make(Events, len(in))
	for i, e := range in {
		var err error
		if out[i], err = readEvent(e.Name, e.Event); err != nil {
			return err
		}
	}
	*es = out
	return nil
}

// strict refuses fields that this version does not know.
func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("more after the end")
	}
	return nil
}
