// Package proxy speaks PostgreSQL's wire protocol (version 3, PostgreSQL 15's behaviour) to analysts: start-up, TLS, SCRAM-SHA-256
// and its -PLUS (bound to the certificate), the simple and the extended protocol, portals, transactions as a state machine, session statements and settings, cancelling.
//
// Messages arrive in connection.go (connection.handle), and go on to simple.go or extended.go. File startup.go has what comes before
// the log-in, output.go what is sent, pgsettings.go and settings.go have SET and SHOW.
//
// Contract. What an analyst asks is given to an Engine, once per portal, at its first Execute; later Executes read the same
// answer. Parse, Bind and Describe run nothing. ROLLBACK undoes settings and nothing else. What a client sees of a failure is
// an *sqlerr.Error or one fixed internal error; causes go to the log without literals. Bytes of clients are untrusted: every
// message, name, statement, portal, unread answer, session and wrong password is counted against a limit of Options, and a panic
// ends one session, never the server. Who sends much, holds connections open or guesses passwords is refused or slowed himself;
// sessions of others go on. A peer that vanished without a word is found by TCP keep-alive, which net.Listen turns on.
package proxy
