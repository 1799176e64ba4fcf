// Package explain answers EXPLAIN of a SELECT. That of TRAIN is in package model.
package explain
