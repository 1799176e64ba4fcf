// Package mlext is private learning. A Spec is what a TRAIN statement asks for, checked before anything is spent. A
// Feature is what the policy says of a feature. A Training is what will be run, and a Model is what is released. The
// package writes a model's predictions as SQL. A kind of model is one entry of kinds.go and a loss of package loss. A
// method is one entry of methods.go and a package of its own.
//
// All up to Training.Train follows from the statement and the policy. Train sees the rows. What it returns may be
// shown for the (epsilon, delta) that Training names.
//
// Predictions over arrays are calls of dp_scores, which only this package writes. A row's call reads each array once
// for all scores, in whole numbers (rewrite/funcs/scores.go).
package mlext
