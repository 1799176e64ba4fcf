// Package proxy speaks PostgreSQL's wire protocol (version 3, PostgreSQL 15's behaviour) to analysts: start-up, SCRAM-SHA-256,
// the simple and the extended protocol, portals, transactions as a state machine, session statements and settings, cancelling.
//
// Contract. What an analyst asks is given to an Engine, once per portal, at its first Execute; later Executes read the same
// answer. Parse, Bind and Describe run nothing. ROLLBACK undoes settings and nothing else. What a client sees of a failure is
// an *sqlerr.Error or one fixed internal error; causes go to the log without literals. Bytes of clients are untrusted: every
// message, name, statement, portal and session is counted against a limit, and a panic ends one session, never the server.
package proxy
