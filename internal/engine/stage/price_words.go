package stage

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/server"
)

// PriceLine is the charge in words, with what each accountant takes of it.
func PriceLine(mp *price.Quote, order float64) string {
	what := cmp.Or(mp.Mechanism.Name(), string(mp.Mechanism))
	switch {
	case what != "":
	case mp.HasPicks():
		what = "permute and flip"
	default:
		what = "selection"
	}
	parts := []string{what}
	if !math.IsInf(mp.Loss.Pure, 1) {
		parts = append(parts, "epsilon "+server.Number(mp.Loss.Pure))
	}
	if order != 0 {
		parts = append(parts, fmt.Sprintf("Renyi %s at order %s", server.Number(mp.Loss.Renyi), server.Number(order)))
	}
	return fmt.Sprintf("price %s (%s, delta %s)", server.Number(mp.Price), strings.Join(parts, ", "), server.Number(mp.Loss.Delta))
}

// SelectionNoise is the noise of a selection, in words.
func SelectionNoise(s dp.Selection) string { return noiseWords[s.Kind()].law }

// ShareText is a part of the price.
func ShareText(part float64) string {
	return ". It takes " + server.Number(100*part) + "% of the price"
}

// Total is what several plans cost together.
func Total(plans []*price.Quote) *price.Quote {
	if len(plans) == 1 {
		return plans[0]
	}
	sum := &price.Quote{}
	for i, mp := range plans {
		if i == 0 {
			sum.Loss, sum.Mechanism = mp.Loss, mp.Mechanism
		} else {
			sum.Loss = sum.Loss.Plus(mp.Loss)
		}
		sum.Price += mp.Price
		if mp.Mechanism != sum.Mechanism {
			sum.Mechanism = bothNoises
		}
	}
	if near := math.Round(sum.Price*1e12) / 1e12; near > 0 { // of thirds, what was asked for
		sum.Price = near
	}
	return sum
}

// bothNoises is the mechanism of a statement whose stages have several.
const bothNoises price.Mechanism = "Gaussian and Laplace"
