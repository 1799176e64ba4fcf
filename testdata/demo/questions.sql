-- The demo's questions. Before each: "outcome[ as user]: title", with outcome answered | free | explained | refused <error id>.

-- answered: How many stays, of how many patients?
SELECT count(*) AS stays, count(DISTINCT patient_id) AS patients FROM encounters;

-- answered: Who comes back, and how long did they stay? (three public groups, no cap needed)
SELECT readmitted, count(*), avg(days_in_hospital)
  FROM encounters GROUP BY 1 ORDER BY 2 DESC;

-- free: The same in another order and with another name (answered from the stored release)
SELECT e.readmitted AS back, avg(e.days_in_hospital) AS days, count(*) AS stays
  FROM encounters AS e GROUP BY e.readmitted ORDER BY days;

-- free as guest: One of its groups, asked by somebody else (computed from that release)
SELECT count(*) FROM encounters WHERE readmitted = '<30';

-- explained: What would it cost? (spends nothing)
EXPLAIN SELECT age_band, sum(prior_inpatient) FROM encounters GROUP BY age_band;

-- answered: Days by age, with the 95% error in the answer
SELECT age_band, avg(days_in_hospital) AS days, dp_error(avg(days_in_hospital)) AS "+-"
  FROM encounters GROUP BY age_band ORDER BY age_band;

-- answered: Insulin by kind of admission: three tables, groups from a public one
SELECT t.description AS admission, count(*) AS prescriptions
  FROM prescriptions p
  JOIN encounters e ON e.encounter_id = p.encounter_id
  JOIN admission_types t ON t.id = e.admission_type_id
 WHERE p.drug = 'insulin'
 GROUP BY t.description ORDER BY prescriptions DESC;

-- answered: Children by kind of admission: nobody is in some groups, and the answer does not tell which
SELECT t.id, t.description, count(*) AS stays
  FROM encounters e JOIN admission_types t ON t.id = e.admission_type_id
 WHERE e.age_band = '0-10'
 GROUP BY t.id, t.description ORDER BY t.id;

-- answered: The commonest diagnoses (unknown groups: chosen with noise, rare ones never show)
SELECT diag_1, count(DISTINCT patient_id) AS patients
  FROM encounters GROUP BY diag_1 ORDER BY patients DESC LIMIT 8;

-- answered: Women and men, joined to their stays (a person is in one group)
SELECT p.gender, count(*) AS stays, avg(e.lab_procedures) AS labs
  FROM patients p JOIN encounters e ON e.patient_id = p.patient_id
 GROUP BY p.gender HAVING count(*) > 1000 ORDER BY p.gender;

-- answered: A model of who comes back within 30 days, trained in the proxy on at most four stays of each patient
TRAIN DP MODEL readmission USING logistic_regression TARGET back WITH (epsilon = 1.0, max_rows_per_unit = 4) AS
SELECT age_band, days_in_hospital, lab_procedures, medications, diagnoses, prior_inpatient, prior_emergency,
       med_change, diabetes_med, readmitted = '<30' AS back FROM encounters;

-- answered: How good is it? (all metrics from one charged statement)
EVALUATE DP MODEL readmission WITH (price = 0.5) ON
SELECT age_band, days_in_hospital, lab_procedures, medications, diagnoses, prior_inpatient, prior_emergency,
       med_change, diabetes_med, readmitted = '<30' AS back FROM encounters;

-- answered: What it predicts, by age (predictions inside aggregates; never per person)
SELECT age_band, avg(dp_predict_proba('readmission', age_band, days_in_hospital, lab_procedures, medications, diagnoses,
       prior_inpatient, prior_emergency, med_change, diabetes_med)) AS predicted
  FROM encounters GROUP BY 1 ORDER BY 1;

-- free: A public table is exact
SELECT id, description FROM admission_types ORDER BY id;

-- refused raw_rows: Somebody's rows?
SELECT * FROM encounters LIMIT 5;

-- refused budget_exhausted as guest: A question beyond the guest's budget of 0.2
SELECT count(*) FROM encounters WHERE days_in_hospital > 7;
