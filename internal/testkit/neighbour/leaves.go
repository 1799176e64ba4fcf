package neighbour

import (
	"context"
	"fmt"
	"math/big"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// Ordered are statements with order statistics.
var Ordered = []string{
	"select min(days), max(days), median(days) from encounters",
	"select percentile_cont(0.3) within group (order by medications), percentile_disc(0.3) within group (order by medications desc), median(medications) from encounters",
	"select readmitted, median(cost), percentile_disc(array[0.1, null, 0.9]) within group (order by cost), count(*), avg(cost) from encounters group by 1",
	"select diag, median(days), count(*), count(distinct patient_id), max(days) from encounters group by 1",
	"select median(score), min(level), max(level) from encounters",
	"select gender, median(weight), max(account), percentile_cont(array[0.25, 0.5, 0.75]) within group (order by account) from patients group by 1",
	"select min(admitted), max(came), percentile_disc(0.5) within group (order by went), median(discharged) from stays",
	"select kind_id, max(days) filter (where readmitted = 'NO'), median(days * 2 + coalesce(medications, 0)) from encounters group by 1",
	"select median(minutes), max(minutes) - min(minutes) from visits",
	"select p.gender, median(e.days), min(e.cost) from patients p join encounters e on p.patient_id = e.patient_id group by 1",
	"select median(n), max(n) from (select patient_id, count(*) as n from encounters group by 1) t where n between 1 and 50",
	"select mode() within group (order by readmitted), dp_top_k(days, 3), count(*) from encounters",
	"select gender, mode() within group (order by ward), dp_top_k(ward, 2), mode() within group (order by smoker) from patients group by 1",
	"select diag, mode() within group (order by kind_id) filter (where days > 3), count(*) from encounters group by 1",
	"select readmitted, dp_top_k(days / 7, 2), mode() within group (order by case when days > 10 then 'long' when days > 3 then 'middle' end), median(days) from encounters group by 1",
	"select max(days), max(distinct days) filter (where readmitted <> 'NO'), min(cost * 2), min(medications) from encounters",
	"select diag, max(case when days > 3 then level end), min(days) from encounters group by 1",
	"select p.gender, max(t.n), min(t.days) from patients p join (select patient_id, days, medications * 2 as n from encounters where days > 1) t on p.patient_id = t.patient_id group by 1",
	"select max(big) filter (where big between -1000 and 1000), median(e.days) from encounters e left join labs l on l.encounter_id = e.encounter_id",
}

// Leaf is one leaf of one group, or one candidate.
type Leaf struct {
	Group string
	At    int64
	Value string
}

// ReadLeaves runs a statement of a tree's leaves.
func ReadLeaves(ctx context.Context, db DB, st *sqlgen.Statement) (map[Leaf]*big.Int, error) {
	rows, err := db.Query(ctx, st)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, st.SQL)
	}
	out := map[Leaf]*big.Int{}
	for _, row := range rows {
		var keys []sqltype.Value
		l, n := Leaf{}, new(big.Int)
		for i, c := range st.Columns {
			v := new(big.Int)
			if c.Role != sqlgen.RoleKey && c.Role != sqlgen.RoleValue {
				if v, err = integer(row[i]); err != nil {
					return nil, err
				}
			}
			switch c.Role {
			case sqlgen.RoleKey:
				keys = append(keys, row[i])
			case sqlgen.RoleValue:
				l.Value = fmt.Sprintf("%T:%v", row[i], row[i])
			case sqlgen.RoleBucket:
				l.At = v.Int64()
			case sqlgen.RoleCount:
				n = v
			default:
				return nil, fmt.Errorf("neighbour: a column of role %s", c.Role)
			}
		}
		if l.Group = Group(keys); out[l] != nil {
			return nil, fmt.Errorf("neighbour: leaf %d of %s comes twice", l.At, l.Group)
		}
		out[l] = n
	}
	return out, nil
}

// CompareLeaves reports the first claim about a measure's leaves that a database without one unit breaks: none rises, in each group all of them fall by at most kept.Rows together, and in at most kept.Groups groups any
// does. It returns the largest change seen, as a share of the claim.
func CompareLeaves(m sensitivity.Measure, kept sqlgen.Kept, before, after map[Leaf]*big.Int) (share float64, err error) {
	changed := map[string]*big.Int{}
	for l, n := range before {
		if m.Tree != nil && (l.At < 0 || l.At >= m.Tree.Count) || n.Sign() < 0 {
			return share, fmt.Errorf("leaf %d counts %s", l.At, n)
		}
		d := new(big.Int).Set(n)
		if other := after[l]; other != nil {
			d.Sub(d, other)
		}
		switch d.Sign() {
		case -1:
			return share, fmt.Errorf("leaf %+v rises by %s without the unit", l, d.Neg(d))
		case 1:
			if changed[l.Group] == nil {
				changed[l.Group] = new(big.Int)
			}
			changed[l.Group].Add(changed[l.Group], d)
		}
	}
	for l, n := range after {
		if before[l] == nil && n.Sign() != 0 {
			return share, fmt.Errorf("leaf %+v counts %s without the unit alone", l, n)
		}
	}
	limit := new(big.Int).SetUint64(kept.Rows)
	for g, d := range changed {
		if d.Cmp(limit) > 0 {
			return share, fmt.Errorf("the leaves of group %s change by %s, the claim is %s", g, d, limit)
		}
		f, _ := new(big.Rat).SetFrac(d, limit).Float64()
		share = max(share, f)
	}
	if uint64(len(changed)) > kept.Groups {
		return share, fmt.Errorf("leaves change in %d groups, the claim is %d", len(changed), kept.Groups)
	}
	return share, nil
}

// SameLeaves reports a difference between leaves that must be the same.
func SameLeaves(a, b map[Leaf]*big.Int) error {
	for _, pair := range [][2]map[Leaf]*big.Int{{a, b}, {b, a}} {
		for l, n := range pair[0] {
			if other := pair[1][l]; other == nil || n.Cmp(other) != 0 {
				return fmt.Errorf("leaf %d of group %s counts %s and %v", l.At, l.Group, n, other)
			}
		}
	}
	return nil
}
