package dp

import "fmt"

// Events has one of each type of event, without its numbers: the closed list of what a ledger can hold and accountants know. Selections with
// Gaussian noise have a name of their own.
func Events() []Event {
	return []Event{Laplace{}, Gaussian{}, Picks{}, Selection{}, Selection{Noise: GaussianNoise}, OneOf{}, Choice{}, AboveThreshold{}, Clipped{}, SmoothScale{}, Training{}, Composed{}, Watch{}}
}

// Law is which noise an event adds to numbers, how much, and for what.
type Law struct {
	Noise       NoiseKind
	Scale       Scale
	Sensitivity Sensitivity
	Largest     uint64 // of TruncatedNoise
}

// LawOf is that of an event that was run. A bound that is not chosen yet has none, nor has an event that adds no noise to numbers.
func LawOf(ev Event) (Law, error) {
	switch ev := ev.(type) {
	case Laplace:
		return Law{Noise: LaplaceNoise, Scale: ev.Scale, Sensitivity: ev.Sensitivity}, nil
	case Gaussian:
		return Law{Noise: GaussianNoise, Scale: ev.Scale, Sensitivity: ev.Sensitivity}, nil
	case Picks:
		return Law{Noise: PickNoise, Scale: ev.Scale, Sensitivity: ev.Sensitivity}, nil
	case Selection:
		return Law{Noise: ev.Kind(), Scale: ev.Scale, Sensitivity: Sensitivity{PerGroup: 1, Groups: ev.Groups}, Largest: ev.Threshold}, nil
	}
	return Law{}, fmt.Errorf("dp: event %T adds no noise to a number", ev)
}
