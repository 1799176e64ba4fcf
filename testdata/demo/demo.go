// Package demo embeds the demo's data (see SOURCE.md for origin, licence and citation), its policy and its questions, and says
// how the files become tables. It holds no logic beyond loading them; the engine never imports it.
package demo

import "embed"

// FS holds the gzipped CSV files (<table>.csv.gz), policy.yaml and questions.sql.
//
//go:embed *.csv.gz policy.yaml questions.sql SOURCE.md
var FS embed.FS
