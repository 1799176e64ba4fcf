package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// clientVariables are the variables of libpq that name a server, a person or how to connect. PGPASSFILE is not one of them, because a password file
// says for each password which server it is for.
var clientVariables = []string{"PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD", "PGAPPNAME", "PGCONNECT_TIMEOUT", "PGSSLMODE", "PGSSLKEY", "PGSSLCERT",
	"PGSSLCERTMODE", "PGSSLSNI", "PGSSLROOTCERT", "PGSSLPASSWORD", "PGSSLNEGOTIATION", "PGTARGETSESSIONATTRS", "PGSERVICE", "PGSERVICEFILE", "PGTZ", "PGOPTIONS",
	"PGMINPROTOCOLVERSION", "PGMAXPROTOCOLVERSION", "PGCHANNELBINDING", "PGREQUIREAUTH"}

// clientEnv has the client variables that were set when dpsql began.
var clientEnv = map[string]string{}

// setClientEnvAside takes the client variables out of the environment. They are for the analyst who types psql. The driver would use them for the
// policy's database and ledger too, and send the analyst's password there.
func setClientEnvAside() {
	for _, name := range clientVariables {
		if value := os.Getenv(name); value != "" {
			clientEnv[name] = value
		}
		_ = os.Unsetenv(name)
	}
}

// connectionHint names the client variables that were set, where dpsql cannot connect to the policy's database or ledger.
func connectionHint(err error) string {
	var c *pgconn.ConnectError
	if !errors.As(err, &c) {
		return ""
	}
	var set []string
	for _, name := range clientVariables {
		if clientEnv[name] != "" {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return ""
	}
	return fmt.Sprintf("For this connection dpsql does not read %s. Write what it needs into the URL, such as postgres://user:password@host/database?sslmode=require.", strings.Join(set, ", "))
}
