package dp

import (
	"encoding/json"
	"math"
)

// lossJSON is a loss as data: JSON has no infinity, so a pure epsilon that is none is the text "inf".
type lossJSON struct {
	Pure  json.RawMessage `json:"pure"`
	Renyi float64         `json:"renyi"`
	Delta float64         `json:"delta"`
}

// MarshalJSON writes a valid loss; the numbers come back to the last bit.
func (l Loss) MarshalJSON() ([]byte, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	out := lossJSON{Pure: json.RawMessage(`"inf"`), Renyi: l.Renyi, Delta: l.Delta}
	if !math.IsInf(l.Pure, 1) {
		pure, err := json.Marshal(l.Pure)
		if err != nil {
			return nil, err
		}
		out.Pure = pure
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote and refuses any other loss, also one without a pure part.
func (l *Loss) UnmarshalJSON(text []byte) error {
	var in lossJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	read := Loss{Pure: math.Inf(1), Renyi: in.Renyi, Delta: in.Delta}
	if string(in.Pure) != `"inf"` {
		read.Pure = math.NaN() // null leaves it as it is
		if err := json.Unmarshal(in.Pure, &read.Pure); err != nil {
			return err
		}
	}
	if err := read.Validate(); err != nil {
		return err
	}
	*l = read
	return nil
}
