package neighbour

import "regexp"

// Moments are statements of variances, correlations and regressions.
var Moments = []string{
	"select count(*), avg(days), var_pop(days), var_samp(days), variance(days), stddev(days), stddev_pop(days) from encounters",
	"select readmitted, variance(cost), stddev_pop(medications), var_samp(score), stddev_samp(level) from encounters group by 1",
	"select corr(days, medications), covar_samp(days, medications), covar_pop(medications, days), regr_slope(medications, days), regr_intercept(medications, days), regr_r2(days, cost) from encounters",
	"select diag, regr_count(score, level), regr_avgx(score, level), regr_avgy(score, level), regr_sxx(score, level), regr_syy(score, level), regr_sxy(score, level) from encounters group by 1",
	"select gender, var_samp(weight), corr(weight, account) filter (where active), stddev(account) filter (where account between 0 and 500) from patients group by 1",
	"select var_pop(big), covar_pop(big, cost), regr_sxx(days, big) from encounters",
	"select p.race, corr(e.days, p.weight), avg(e.days), stddev(e.days) filter (where e.readmitted <> 'NO') from encounters e join patients p on p.patient_id = e.patient_id group by 1",
	"select variance(n), avg(n), corr(n, d) from (select patient_id, count(*) n, max(days) d from encounters group by 1) t",
	"select kind_id, stddev(cost * (1 + days)), covar_samp(cost - days, days), regr_r2(medications, medications) from encounters group by 1",
	"select var_samp(discharged - admitted), corr(discharged - admitted, extract(year from admitted)) from stays",
}

// ChosenMoments are those of tables without declared rows.
var ChosenMoments = []string{
	"select regr_slope(x.minutes, e.days), var_pop(x.minutes + e.days), avg(minutes), count(*) from visits x join encounters e on e.patient_id = x.patient_id where x.minutes < 500",
	"select minutes > 100, stddev(minutes), variance(minutes) filter (where minutes > 20) from visits group by 1",
	"select readmitted, corr(medications, days), stddev(cost), covar_pop(score, big) from encounters group by 1",
}

// RangedCatalog is the clinic with its ranges, but without a table's number of rows of a unit.
func RangedCatalog() *Catalog {
	c, err := ParseCatalog(regexp.MustCompile(` m=[2-9]`).ReplaceAllString(Clinic, ""))
	if err != nil {
		panic(err)
	}
	return c
}

// Decisions are statements of BOOL_AND, BOOL_OR and EVERY, whose conditions have a value in each group.
var Decisions = []string{
	"select bool_and(days > 0), bool_or(days > 13), every(days > 3 or medications is null), bool_or(medications < 0) from encounters",
	"select readmitted, bool_or(days > 12), bool_and(cost is not null), bool_or(true), bool_and(false) from encounters group by 1",
	"select gender, every(active) filter (where city_id > 1), bool_or(active), count(distinct patient_id) filter (where active) from patients group by 1",
	"select bool_or(n > 3), bool_and(n < 9) from (select patient_id, count(*) n from encounters group by 1) t",
	"select p.race, bool_or(e.days > 13) from encounters e join patients p on p.patient_id = e.patient_id group by 1",
}
