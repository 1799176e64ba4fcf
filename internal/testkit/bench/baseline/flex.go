package baseline

import "math"

// FlexSelfJoin is the median error of a count over a table joined with itself on one key by FLEX, as published (Johnson, Near, Song, "Towards Practical Differential Privacy for SQL Queries", VLDB 2018, Definition 7 and section 4): it protects one row, not one person. often is how often the most
// frequent value of the key occurs. At distance k one row changes 2 (often + k) + 1 joined rows; smoothed with beta = epsilon/(2 ln(2/delta)), noise of scale 2 S/epsilon.
func FlexSelfJoin(often, epsilon, delta float64) float64 {
	beta, smooth := epsilon/(2*math.Log(2/delta)), 0.0
	for k := 0.0; k <= 1/beta+1; k++ { // from there on the factor exp(-beta) outweighs what k adds
		smooth = math.Max(smooth, math.Exp(-beta*k)*(2*(often+k)+1))
	}
	return 2 * smooth / epsilon * math.Ln2
}
