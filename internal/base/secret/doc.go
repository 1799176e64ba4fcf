// Package secret holds what was read from private rows. A Value cannot be printed, logged, compared, marshalled or
// put into an error: every such way gives "(secret)" or fails. Only engine, backends and mlext may import this
// package (internal/rooms tests it), and only Open gives the value out.
//
// The rows of a training come as blocks of numbers, each of them one Value (Numbers, backend.QueryNumbers).
package secret
