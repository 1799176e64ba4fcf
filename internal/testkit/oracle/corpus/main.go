// Command corpus is internal/testkit/corpus with PostgreSQL's own parser. Its exit code is 1 if anything is different.
//
//	CORPUS=dir SCHEMA=name make corpus        name: a .sql file, demo, sakila, or a folder of testdata/corpus
//	make corpus                               every corpus that is here, with its own schema
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpsql/dpsql/internal/testkit/corpus"
	"github.com/dpsql/dpsql/internal/testkit/oracle"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

func main() {
	path := flag.String("corpus", "", "folder of .sql and .jsonl files, or one file")
	schema := flag.String("schema", "", "their schema: a .sql file, demo, sakila, or a folder of testdata/corpus")
	all := flag.Bool("v", false, "print what is the same too")
	flag.Parse()
	bugs, err := run(*path, *schema, *all)
	if err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(2)
	}
	if bugs > 0 {
		os.Exit(1)
	}
}

func run(path, schema string, all bool) (bugs int, err error) {
	root, err := corpus.Root()
	if err != nil {
		return 0, err
	}
	list := []corpus.Corpus{{Path: path, Schema: schema}}
	switch {
	case path == "" && schema == "":
		var skipped []string
		if list, skipped, err = corpus.Ours(root); err != nil {
			return 0, err
		}
		for _, path := range skipped {
			fmt.Printf("skipped: %s is not there\n\n", path)
		}
	case path == "" || schema == "":
		return 0, errors.New("CORPUS needs a SCHEMA, and the other way round")
	}
	server, stop, err := pgtest.StartShared()
	if err != nil {
		return 0, err
	}
	defer stop()
	r := &corpus.Runner{Server: server, Root: root, All: all, Parser: &corpus.Parser{Takes: takes, Same: oracle.Same}}
	for _, c := range list {
		n, err := r.Run(c, os.Stdout)
		if err != nil {
			return bugs, fmt.Errorf("%s: %w", c.Path, err)
		}
		bugs += n.Different
	}
	return bugs, nil
}

func takes(text string) error {
	_, err := pgquery.ParseToJSON(text)
	return err
}
