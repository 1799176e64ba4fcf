package pgtest

import "regexp"

// dpsql has the catalogs and settings of PostgreSQL 15.18. What later minor releases, which a machine may have, add is taken away from the server that tests compare with.

// LaterFunctions takes away their functions, from one database.
const LaterFunctions = "DELETE FROM pg_proc WHERE proname = 'binary_upgrade_set_next_attribute_versions';"

// LaterSettings are theirs.
var LaterSettings = []string{"composite_type_mismatch", "output_plugin_libraries"}

// laterOptions are theirs of columns: a number of storage.
var laterOptions = regexp.MustCompile(`^\{pg_attver=\d+\}$`)
