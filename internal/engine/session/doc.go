// Package session has what one connection keeps between statements: its settings, its errors and dpsql's own tables. File
// kind.go has what each statement keeps, and what all kinds of statements have in common.
// File public.go answers statements over public tables alone.
package session
