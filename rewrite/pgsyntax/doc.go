// Package pgsyntax reads PostgreSQL's SQL and gives the analysts' syntax tree, or an *sqlerr.Error with a position in their text.
//
// The way of a statement: an own lexer by PostgreSQL's rules; a front end that re-spells the tokens as a skeleton for
// github.com/pingcap/tidb/pkg/parser; that parser, which alone decides whether clauses, joins, set operations, subqueries and
// CASE stand where they may; and the lowering of its tree to ours.
//
// The skeleton holds a handful of keywords (SELECT, FROM, LEFT JOIN, WHERE ...), brackets, commas and back-quoted numbers. Each
// number is an atom: a name, a literal, an operator or a mark with its position, kept aside. So none of MySQL's words, literals,
// operators or precedences ever meets an analyst's text. An expression is carried as its operands and operators in a row joined by
// "|", and the lowering groups them by PostgreSQL's own table of precedence; every atom must come back exactly once, else
// the statement is refused.
//
// What PostgreSQL's grammar has and the tree can't carry is refused by name (unsupported, 0A000), what it does not have is a syntax
// error (42601). Parse bounds length, nesting, expression depth and parameters before any recursion. Nothing here knows tables,
// types or functions; text of an analyst never reaches a database from here.
package pgsyntax
