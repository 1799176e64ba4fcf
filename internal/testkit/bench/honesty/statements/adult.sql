-- A census file, one row a person: 32,561. Listed before the mechanism was tuned.

-- people
SELECT count(*) FROM adult;
-- average age
SELECT avg(age) FROM adult;
-- weights
SELECT sum(fnlwgt) FROM adult;
-- gains
SELECT sum(capital_gain) FROM adult;
-- average gain
SELECT avg(capital_gain) FROM adult;
-- losses by sex
SELECT sex, sum(capital_loss) FROM adult GROUP BY sex;
-- people by education
SELECT education, count(*) FROM adult GROUP BY education;
-- people by occupation
SELECT occupation, count(*) FROM adult GROUP BY occupation;
-- people by country
SELECT native_country, count(*) FROM adult GROUP BY native_country;
-- gains by occupation
SELECT occupation, sum(capital_gain) FROM adult GROUP BY occupation;
-- hours by sex and income
SELECT sex, income, avg(hours_per_week) FROM adult GROUP BY sex, income;
-- rich by age
SELECT age, count(*) FROM adult WHERE income = '>50K' GROUP BY age;
-- people by race and sex, with totals
SELECT race, sex, count(*) FROM adult GROUP BY ROLLUP(race, sex);
-- youngest and oldest; unit: none
SELECT min(age), max(age) FROM adult;
-- most hours by sex; unit: none
SELECT sex, max(hours_per_week) FROM adult GROUP BY sex;
-- doctors of philosophy who are poor
SELECT count(*) FROM adult WHERE education = 'Doctorate' AND income = '<=50K';
-- hours of widows by occupation
SELECT occupation, sum(hours_per_week) FROM adult WHERE marital = 'Widowed' GROUP BY occupation;
-- share of the rich
SELECT avg(CASE WHEN income = '>50K' THEN 1 ELSE 0 END) FROM adult;
-- years of schooling by tens of age
SELECT age / 10 * 10 AS decade, avg(education_num) FROM adult GROUP BY 1;
-- share of women by occupation
SELECT occupation, 1.0 * sum(CASE WHEN sex = 'Female' THEN 1 ELSE 0 END) / count(*) FROM adult GROUP BY occupation;
-- spread of ages
SELECT stddev(age) FROM adult;
-- variance of hours by sex
SELECT sex, variance(hours_per_week) FROM adult GROUP BY sex;
-- median age by income
SELECT income, percentile_cont(0.5) WITHIN GROUP (ORDER BY age) FROM adult GROUP BY income;
-- ninth decile of hours by occupation
SELECT occupation, percentile_cont(0.9) WITHIN GROUP (ORDER BY hours_per_week) FROM adult GROUP BY occupation;
-- people up to each age
SELECT age, sum(count(*)) OVER (ORDER BY age) FROM adult GROUP BY age;
-- share of people by education
SELECT education, 100.0 * count(*) / sum(count(*)) OVER () FROM adult GROUP BY education;
