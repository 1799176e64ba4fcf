// Package interval finds which values expressions have: intervals, grids, NULL and NaN. All follows from types,
// declared ranges, conditions and public tables.
//
// File sign.go finds values that are never negative. Only the upper end of their sum's confidence interval allows for
// lost mass.
package interval
