// Package demo embeds the demo's data (see SOURCE.md for origin, licence and citation), its policy and its questions, and says
// how the files become tables. It holds no logic beyond loading them; the engine never imports it.
package demo

import (
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
)

// FS holds the gzipped CSV files (<table>.csv.gz), policy.yaml and questions.sql.
//
//go:embed *.csv.gz policy.yaml questions.sql SOURCE.md
var FS embed.FS

// Open gives a table's file as plain CSV: a header line, then the rows; an empty field is NULL.
func (t Table) Open() (io.ReadCloser, error) {
	f, err := FS.Open(t.File())
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("demo: %s: %w", t.File(), err), f.Close())
	}
	return csvFile{z, f}, nil
}

type csvFile struct {
	*gzip.Reader
	under io.Closer
}

func (c csvFile) Close() error { return errors.Join(c.Reader.Close(), c.under.Close()) }
