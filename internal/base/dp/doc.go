// Package dp holds the plain words of differential privacy that the rooms share: privacy units, sensitivities, noise scales,
// events (what was run) and losses (what it costs). Values are data; their Validate methods refuse zero values, NaN and
// infinities. It is a leaf.
//
// File events.go lists the kinds of events.
package dp
