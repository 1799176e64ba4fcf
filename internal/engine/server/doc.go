// Package server has what all sessions of one server share: Engine, with its policy, the schema that the policy is bound
// to, turns at the database, and what the owner does to it. Start at engine.go.
//
// # Worlds
//
// A world is a policy that is bound to a schema. A reload makes a new world, and so does a changed schema. Each
// statement uses the world in force at its start. Rights and bounds therefore change at once for running sessions
// and prepared statements, and never within a statement.
package server
