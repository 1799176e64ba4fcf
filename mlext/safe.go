package mlext

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/noise"
)

// safely runs the method. A panic of it is a failure as any other after the charge: the analyst sees the one error that all have, the owner's log has the stack. What the panic said may quote rows, so it is left out.
func (t *Training) safely(rows *data.Table, src *noise.Source, each func(done, of int) error) (theta []float64, step float64, err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			var part *data.Panicked
			if e, ok := p.(error); ok && errors.As(e, &part) {
				stack = part.Stack
			}
			theta, err = nil, fmt.Errorf("mlext: method %s panicked: %s", t.Method, stack)
		}
	}()
	return t.run(rows, src, each)
}
