// Package model answers TRAIN, EVALUATE and the statements about stored models.
package model
