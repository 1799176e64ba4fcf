// Package docs holds the pages that the program itself prints.
package docs

import _ "embed"

// Errors is errors.md: every kind of error with its cure and an example.
//
//go:embed errors.md
var Errors string
