-- The demo under the policy that dpsql ships with it, which declares ranges and values. Listed before the mechanism was tuned.

-- encounters
SELECT count(*) FROM encounters;
-- encounters and patients
SELECT count(*), count(DISTINCT patient_id) FROM encounters;
-- days in hospital
SELECT sum(days_in_hospital) FROM encounters;
-- who comes back
SELECT readmitted, count(*), avg(days_in_hospital) FROM encounters GROUP BY 1 ORDER BY 2 DESC;
-- encounters by age band
SELECT age_band, count(*) FROM encounters GROUP BY age_band;
-- earlier stays by age band
SELECT age_band, sum(prior_inpatient) FROM encounters GROUP BY age_band;
-- average days by age band
SELECT age_band, avg(days_in_hospital) FROM encounters GROUP BY age_band ORDER BY age_band;
-- encounters by age band and readmission
SELECT age_band, readmitted, count(*) FROM encounters GROUP BY 1, 2;
-- encounters by age band and readmission, with totals
SELECT age_band, readmitted, count(*) FROM encounters GROUP BY ROLLUP(age_band, readmitted);
-- insulin by kind of admission; unit: e.patient_id
SELECT t.description, count(*) FROM prescriptions p JOIN encounters e ON e.encounter_id = p.encounter_id JOIN admission_types t ON t.id = e.admission_type_id WHERE p.drug = 'insulin' GROUP BY t.description;
-- children by kind of admission
SELECT t.id, t.description, count(*) FROM encounters e JOIN admission_types t ON t.id = e.admission_type_id WHERE e.age_band = '0-10' GROUP BY t.id, t.description;
-- most lab procedures (issue); unit: none
SELECT max(lab_procedures) FROM encounters;
-- women and men and their labs; unit: p.patient_id
SELECT p.gender, count(*), avg(e.lab_procedures) FROM patients p JOIN encounters e ON e.patient_id = p.patient_id GROUP BY p.gender;
-- commonest diagnoses by patients
SELECT diag_1, count(DISTINCT patient_id) FROM encounters GROUP BY diag_1 ORDER BY 2 DESC LIMIT 8;
-- changes of medication by result of the test
SELECT a1c, count(*) FROM encounters WHERE med_change GROUP BY a1c;
-- medications and days (issue)
SELECT avg(medications * days_in_hospital) FROM encounters;
-- change since earlier visits (issue)
SELECT avg(prior_inpatient - prior_outpatient) FROM encounters;
-- spread of days
SELECT stddev(days_in_hospital) FROM encounters;
-- variance of labs by readmission
SELECT readmitted, variance(lab_procedures) FROM encounters GROUP BY readmitted;
-- median of medications
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY medications) FROM encounters;
-- ninth decile of labs by age band
SELECT age_band, percentile_cont(0.9) WITHIN GROUP (ORDER BY lab_procedures) FROM encounters GROUP BY age_band;
-- encounters up to each age
SELECT age_band, sum(count(*)) OVER (ORDER BY age_band) FROM encounters GROUP BY age_band;
-- share of the days by age band
SELECT age_band, sum(days_in_hospital) / sum(sum(days_in_hospital)) OVER () FROM encounters GROUP BY age_band;
