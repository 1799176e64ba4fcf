package postgres

import (
	"fmt"
	"slices"
	"strings"
)

// encodings are a database's encodings in which every text that it takes has a UTF-8 form. In the others the server raises an
// error when it sends a text without one (SQL_ASCII holds any bytes, WIN1252 has five without a character), and whether a
// statement failed would tell of one person's row.
var encodings = []string{"UTF8", "LATIN1", "LATIN2", "LATIN4", "LATIN5", "LATIN6", "LATIN7", "LATIN8", "LATIN9", "LATIN10", "ISO_8859_5",
	"WIN1256", "WIN866", "KOI8R", "KOI8U"}

func checkEncoding(name string) error {
	if !slices.Contains(encodings, name) {
		return fmt.Errorf("postgres: the database's encoding is %q, in which a text may have no UTF-8 form; dpsql serves %s: copy it into a UTF8 database",
			name, strings.Join(encodings, ", "))
	}
	return nil
}
