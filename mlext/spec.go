package mlext

import "github.com/dpsql/dpsql/rewrite/pgsyntax"

// Spec is what a TRAIN statement asks for.
type Spec struct {
	Name, Model, Method, Target string
	Replace                     bool
	Epsilon, Delta              float64      // Delta 0: the policy's default, but where Pure
	Price                       float64      // what the training may cost, in place of Epsilon; 0: it follows from them
	Pure                        bool         // delta = 0
	MostRows                    uint64       // of one unit; 0: as the policy says
	Split                       float64      // the part of the units that is trained on; 0: all
	Fill                        bool         // NULL features are read as the middle of their range
	Until                       func() error // asked now and again by Plan, which its error ends; nil: nothing does
	numbers                     map[string]float64
	words                       map[string]string
	weights                     []float64 // of the target's values, in their order; the largest is 1
	hidden                      []int     // units of a network's hidden layers
	filters                     []int     // of its convolutions
	at                          map[string]pgsyntax.Pos
	targetAt                    pgsyntax.Pos
}

// Has reports an option that the statement gives.
func (s *Spec) Has(option string) bool {
	_, has := s.at[option]
	return has
}

func (s *Spec) number(name string, otherwise float64) float64 {
	if x, ok := s.numbers[name]; ok {
		return x
	}
	return otherwise
}
