package plan

import "cmp"

// AggFunc is an aggregate function by PostgreSQL's name; count(*) is CountRows.
type AggFunc string

// The aggregates that dpsql knows by more than their names.
const (
	CountRows AggFunc = "count(*)"
	Count     AggFunc = "count"
	Sum       AggFunc = "sum"
	Avg       AggFunc = "avg"
	Min       AggFunc = "min"
	Max       AggFunc = "max"
	TopK      AggFunc = "dp_top_k" // dpsql's own, over private rows alone
)

// AggFacts is what the rooms ask about an aggregate over private rows. How it is computed is theirs.
type AggFacts struct {
	IsTotal        bool    // its value and symmetric noise. An average is not: its quotient is cut to its range, where the errors of all groups have one sign
	IsStatistic    bool    // of centred moments: a variance, a deviation, a correlation or a regression's
	IsOfOne        bool    // a statistic of one column's spread, which is 0 where its values are equal alone
	GrowsWithRows  bool    // a statistic that is a sum over rows
	IsProportional bool    // a statistic in proportion to the bounds on what it is computed from
	IsPick         bool    // one of the values that it is given
	IsDecision     bool    // of booleans: whether all or some are true
	HasNoInterval  bool    // dp_low and dp_high are not known
	IsOfUnit       bool    // it does not depend on the order of rows, and can be computed within a person's rows
	SameAs         AggFunc // of which it is another name
}

// Aggregates has every aggregate that is answered over private rows: others are refused (claims.Measurer).
var Aggregates = map[AggFunc]AggFacts{
	CountRows:         {IsTotal: true, IsOfUnit: true},
	Count:             {IsTotal: true, IsOfUnit: true},
	Sum:               {IsTotal: true, IsOfUnit: true},
	Avg:               {IsOfUnit: true},
	Min:               {IsPick: true, IsOfUnit: true},
	Max:               {IsPick: true, IsOfUnit: true},
	"percentile_cont": {IsPick: true},
	"percentile_disc": {IsPick: true},
	"mode":            {IsPick: true, HasNoInterval: true},
	TopK:              {IsPick: true, HasNoInterval: true},
	"bool_and":        {IsDecision: true, IsOfUnit: true},
	"every":           {IsDecision: true, IsOfUnit: true},
	"bool_or":         {IsDecision: true, IsOfUnit: true},
	"var_pop":         {IsStatistic: true, IsOfOne: true, IsProportional: true},
	"var_samp":        {IsStatistic: true, IsOfOne: true, IsProportional: true},
	"variance":        {IsStatistic: true, IsOfOne: true, IsProportional: true, SameAs: "var_samp"},
	"stddev_pop":      {IsStatistic: true, IsOfOne: true},
	"stddev_samp":     {IsStatistic: true, IsOfOne: true},
	"stddev":          {IsStatistic: true, IsOfOne: true, SameAs: "stddev_samp"},
	"covar_pop":       {IsStatistic: true, IsProportional: true},
	"covar_samp":      {IsStatistic: true, IsProportional: true},
	"corr":            {IsStatistic: true},
	"regr_r2":         {IsStatistic: true},
	"regr_slope":      {IsStatistic: true},
	"regr_intercept":  {IsStatistic: true},
	"regr_sxx":        {IsStatistic: true, IsProportional: true, GrowsWithRows: true},
	"regr_syy":        {IsStatistic: true, IsProportional: true, GrowsWithRows: true},
	"regr_sxy":        {IsStatistic: true, IsProportional: true, GrowsWithRows: true},
	"regr_avgx":       {IsStatistic: true},
	"regr_avgy":       {IsStatistic: true},
	"regr_count":      {IsStatistic: true},
}

// Facts are those of an aggregate over private rows; none of another.
func (fn AggFunc) Facts() AggFacts { return Aggregates[fn] }

// Full is the name that stands for all names of one aggregate.
func (fn AggFunc) Full() AggFunc { return cmp.Or(fn.Facts().SameAs, fn) }

// IsRoundable reports an aggregate that is shown with the digits that its interval supports.
func (fn AggFunc) IsRoundable() bool {
	return fn == Avg || fn.Facts().IsTotal || fn.Facts().IsStatistic
}
