// Package funcs is the registry of functions, operators and casts: one row each, with its types, the range of its values,
// its total form in each backend's spelling and its Go evaluation where there is one. What is not here does not exist.
//
// Each topic has a file: arith.go, text.go and so on. A row is made by the file of its topic and entered in registry.go.
// Read func.go, forms.go and row.go first: all topics use them.
package funcs
