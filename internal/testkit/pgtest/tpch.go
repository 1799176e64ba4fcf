package pgtest

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

var tpchTables = []struct{ name, create, keys string }{
	{"region", `r_regionkey integer NOT NULL, r_name char(25) NOT NULL, r_comment varchar(152)`,
		`ADD PRIMARY KEY (r_regionkey)`},
	{"nation", `n_nationkey integer NOT NULL, n_name char(25) NOT NULL, n_regionkey integer NOT NULL, n_comment varchar(152)`,
		`ADD PRIMARY KEY (n_nationkey), ADD FOREIGN KEY (n_regionkey) REFERENCES region`},
	{"supplier", `s_suppkey integer NOT NULL, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL, s_nationkey integer NOT NULL,
		s_phone char(15) NOT NULL, s_acctbal numeric(15,2) NOT NULL, s_comment varchar(101) NOT NULL`,
		`ADD PRIMARY KEY (s_suppkey), ADD FOREIGN KEY (s_nationkey) REFERENCES nation`},
	{"part", `p_partkey integer NOT NULL, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL, p_brand char(10) NOT NULL,
		p_type varchar(25) NOT NULL, p_size integer NOT NULL, p_container char(10) NOT NULL, p_retailprice numeric(15,2) NOT NULL,
		p_comment varchar(23) NOT NULL`,
		`ADD PRIMARY KEY (p_partkey)`},
	{"partsupp", `ps_partkey integer NOT NULL, ps_suppkey integer NOT NULL, ps_availqty integer NOT NULL,
		ps_supplycost numeric(15,2) NOT NULL, ps_comment varchar(199) NOT NULL`,
		`ADD PRIMARY KEY (ps_partkey, ps_suppkey), ADD FOREIGN KEY (ps_partkey) REFERENCES part,
		ADD FOREIGN KEY (ps_suppkey) REFERENCES supplier`},
	{"customer", `c_custkey integer NOT NULL, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL, c_nationkey integer NOT NULL,
		c_phone char(15) NOT NULL, c_acctbal numeric(15,2) NOT NULL, c_mktsegment char(10) NOT NULL, c_comment varchar(117) NOT NULL`,
		`ADD PRIMARY KEY (c_custkey), ADD FOREIGN KEY (c_nationkey) REFERENCES nation`},
	{"orders", `o_orderkey integer NOT NULL, o_custkey integer NOT NULL, o_orderstatus char(1) NOT NULL,
		o_totalprice numeric(15,2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority char(15) NOT NULL, o_clerk char(15) NOT NULL,
		o_shippriority integer NOT NULL, o_comment varchar(79) NOT NULL`,
		`ADD PRIMARY KEY (o_orderkey), ADD FOREIGN KEY (o_custkey) REFERENCES customer`},
	{"lineitem", `l_orderkey integer NOT NULL, l_partkey integer NOT NULL, l_suppkey integer NOT NULL, l_linenumber integer NOT NULL,
		l_quantity numeric(15,2) NOT NULL, l_extendedprice numeric(15,2) NOT NULL, l_discount numeric(15,2) NOT NULL,
		l_tax numeric(15,2) NOT NULL, l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL, l_shipdate date NOT NULL,
		l_commitdate date NOT NULL, l_receiptdate date NOT NULL, l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL,
		l_comment varchar(44) NOT NULL`,
		`ADD PRIMARY KEY (l_orderkey, l_linenumber), ADD FOREIGN KEY (l_orderkey) REFERENCES orders,
		ADD FOREIGN KEY (l_partkey, l_suppkey) REFERENCES partsupp`},
}

// LoadTPCH makes a database holding TPC-H from a folder of <table>.csv.gz files, with its keys, analysed, and lets
// dpsql_reader read it. Where the folder is missing the error is fs.ErrNotExist, and nothing was made.
func (s *Server) LoadTPCH(db, dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	if err := s.CreateDB(db); err != nil {
		return err
	}
	return s.with(db, func(ctx context.Context, c *pgx.Conn) error {
		for _, t := range tpchTables {
			if _, err := c.Exec(ctx, "CREATE TABLE "+t.name+" ("+t.create+")"); err != nil {
				return err
			}
			if err := copyFile(ctx, c, t.name, filepath.Join(dir, t.name+".csv.gz")); err != nil {
				return err
			}
		}
		for _, t := range tpchTables {
			if _, err := c.Exec(ctx, "ALTER TABLE "+t.name+" "+t.keys); err != nil {
				return fmt.Errorf("pgtest: keys of %s: %w", t.name, err)
			}
		}
		return finish(ctx, c)
	})
}

func copyFile(ctx context.Context, c *pgx.Conn, table, path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("pgtest: %s: %w", path, err)
	}
	return copyIn(ctx, c, table, z)
}
