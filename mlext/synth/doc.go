// Package synth makes synthetic rows from noisy marginals.
//
// The rows' columns have a few public values each, called bins. Three
// releases are made of them: the counts of each column's bins, a score of
// each pair of columns that says how far the pair is from independent, and
// the counts of the pairs that the scores choose. All else is computed from
// these: a graphical model is fitted, and rows are drawn from it. The package
// knows neither SQL nor budgets.
//
// Sources: McKenna, Miklau, Sheldon, "Winning the NIST contest: a scalable
// and general approach to differentially private synthetic data", 2021 (MST),
// for measuring, fitting and drawing; Zhang, Wang, Li, Honorio, Backes, He,
// Chen, Zhang, "PrivSyn: differentially private data synthesis", USENIX
// Security 2021, for choosing pairs by noisy scores.
package synth
