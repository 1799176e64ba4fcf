package plan

import "slices"

// TableRead is a table of the catalog and those of its columns that a statement reads.
type TableRead struct {
	Table   *Table
	Columns []int // indexes in Table.Columns, in order
}

// TablesRead lists the tables that a statement reads rows of, each once.
//
// Proof: claim: the answer follows from the rows of these tables, cut to these columns. (1) The columns of the answer are read. (2) So are all that a node computes from, DISTINCT's and a subquery's columns, and what a LATERAL side takes of the other. (3) Columns that a projection computes are left out where nothing above reads
// them: relations are visited from the answer down, so all of their readers were there before.
func (q *Query) TablesRead() []TableRead {
	read := map[ColID]bool{}
	note := func(ids ...ColID) {
		for _, id := range ids {
			read[id] = true
		}
	}
	for _, o := range q.Outputs {
		note(o.Col) // (1) the answer's columns are read
	}
	var scans []*Scan
	noteScalar := func(x Scalar) { // (2) so is what a node computes from
		VisitCols(x, func(c *Col) { note(c.ID) })
		VisitQueries(x, func(s *Subquery) bool { note(s.Cols...); return true })
	}
	VisitRels(q.Root, func(r Rel) bool {
		note(Reads(r)...)
		switch n := r.(type) {
		case *Scan:
			scans = append(scans, n)
			return true
		case *Project:
			for _, it := range n.Items {
				if read[it.ID] { // (3) only where something above reads it
					noteScalar(it.Expr)
				}
			}
			return true
		case *Distinct:
			note(n.Cols()...)
		case *Join:
			if n.Lateral {
				for _, c := range Free(n.Right) {
					note(c.ID)
				}
			}
		}
		for _, x := range Scalars(r) {
			noteScalar(x)
		}
		return true
	})
	var out []TableRead
	for _, s := range scans {
		at := slices.IndexFunc(out, func(t TableRead) bool { return t.Table == s.Table })
		if at < 0 {
			at = len(out)
			out = append(out, TableRead{Table: s.Table})
		}
		for i, id := range s.Columns {
			if read[id] && !slices.Contains(out[at].Columns, i) {
				out[at].Columns = append(out[at].Columns, i)
			}
		}
	}
	for _, t := range out {
		slices.Sort(t.Columns)
	}
	return out
}
