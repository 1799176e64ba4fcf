// Package proxy speaks PostgreSQL's wire protocol (version 3, PostgreSQL 15's behaviour) to analysts: start-up, TLS, SCRAM-SHA-256
// and its -PLUS (bound to the certificate), the simple and the extended protocol, portals, transactions as a state machine, session statements and settings, cancelling.
//
// Messages arrive in messages.go (connection.handle), and go on to simple.go or extended.go.
//
// Contract. What an analyst asks is given to an Engine, once per portal, at its first Execute; later Executes read the same
// answer. Parse, Bind and Describe run nothing. ROLLBACK undoes settings and nothing else. What a client sees of a failure is
// an *sqlerr.Error or one fixed internal error; causes go to the log without literals. Bytes of clients are untrusted: every
// message, name, statement, portal, unread answer, session and wrong password is counted against a limit of Options, and a panic
// ends one session, never the server. Who sends much, holds connections open or guesses passwords is refused or slowed himself;
// sessions of others go on. A peer that vanished without a word is found by TCP keep-alive, which net.Listen turns on.
//
// # Files
//
// The files lie in groups. A file uses files of its own group and of the groups above it.
//
//	values: limits, certificates, errors, encodings, and the settings that there are
//	    engine shelf errors certificate clientcert tls throttle forward options charset parameter guc formats
//	session: a connection, its server, its settings, its transaction, and the statements and portals that it holds
//	    statement rowreader portal transaction settings wire life kept connection answers server held
//	messages: what is read and sent, and what ends a running statement
//	    output notices input running hangup rows part
//	log-in: all before the first statement, and requests to cancel
//	    cancel balancer encrypt identify scram startup
//	statements: how each statement is prepared and run
//	    transaction_run pgsettings control copy copyout cursor portal_run prepare statement_run
//	protocol: the simple and the extended protocol, and the life of a connection
//	    simple extended messages serve inside
package proxy
