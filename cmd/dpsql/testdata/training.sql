SELECT scope, renyi_spent, renyi_room, delta_spent, statements_left FROM dpsql.budget;

-- What it would take: spends nothing.
EXPLAIN TRAIN DP MODEL comes_back USING logistic_regression TARGET back SPLIT 0.8
  WITH (epsilon = 1, delta = 1e-8, max_rows_per_unit = 2) AS
SELECT age_band, days_in_hospital, medications, prior_inpatient, readmitted = '<30' AS back FROM encounters;

-- On four of five patients, with the usual method.
TRAIN DP MODEL comes_back USING logistic_regression TARGET back SPLIT 0.8
  WITH (epsilon = 1, delta = 1e-8, max_rows_per_unit = 2) AS
SELECT age_band, days_in_hospital, medications, prior_inpatient, readmitted = '<30' AS back FROM encounters \g /dev/null

-- The same question to each other method.
TRAIN DP MODEL by_kifer_2012 USING logistic_regression METHOD kifer_2012 TARGET back
  WITH (epsilon = 0.5, delta = 1e-8, max_rows_per_unit = 1) AS
SELECT age_band, days_in_hospital, medications, prior_inpatient, readmitted = '<30' AS back FROM encounters \g /dev/null
TRAIN DP MODEL by_amp USING logistic_regression METHOD amp TARGET back
  WITH (epsilon = 0.5, delta = 1e-8, max_rows_per_unit = 1) AS
SELECT age_band, days_in_hospital, medications, prior_inpatient, readmitted = '<30' AS back FROM encounters \g /dev/null
TRAIN DP MODEL by_output USING logistic_regression METHOD output_perturbation TARGET back
  WITH (epsilon = 0.5, delta = 1e-8, max_rows_per_unit = 1) AS
SELECT age_band, days_in_hospital, medications, prior_inpatient, readmitted = '<30' AS back FROM encounters \g /dev/null
TRAIN DP MODEL by_moments USING linear_regression METHOD sufficient_statistics TARGET days_in_hospital
  WITH (epsilon = 0.5, delta = 1e-8, max_rows_per_unit = 1) AS
SELECT age_band, medications, prior_inpatient, days_in_hospital FROM encounters \g /dev/null
TRAIN DP MODEL by_gd USING softmax_regression METHOD dp_gd TARGET readmitted
  WITH (epsilon = 0.5, delta = 1e-8, max_rows_per_unit = 1, steps = 100) AS
SELECT age_band, days_in_hospital, medications, prior_inpatient, readmitted FROM encounters \g /dev/null
TRAIN DP MODEL by_sgd USING svm METHOD dp_sgd TARGET back
  WITH (epsilon = 0.5, delta = 1e-8, max_rows_per_unit = 1, steps = 100) AS
SELECT age_band, days_in_hospital, medications, prior_inpatient, readmitted = '<30' AS back FROM encounters \g /dev/null
TRAIN DP MODEL by_adam USING poisson_regression METHOD dp_adam TARGET prior_inpatient
  WITH (epsilon = 0.5, delta = 1e-8, max_rows_per_unit = 1, steps = 100) AS
SELECT age_band, days_in_hospital, medications, prior_inpatient FROM encounters \g /dev/null

SHOW DP MODELS;

-- How good it is: on the patients that it was not trained on.
EVALUATE DP MODEL comes_back WITH (price = 0.5) ON
SELECT age_band, days_in_hospital, medications, prior_inpatient, readmitted = '<30' AS back FROM encounters;
EVALUATE DP MODEL by_moments WITH (price = 0.5) ON
SELECT age_band, medications, prior_inpatient, days_in_hospital FROM encounters;

DESCRIBE DP MODEL comes_back;

-- Of constants, and in a query.
SELECT dp_predict('comes_back', '60-70', 4, 12, 2), dp_predict_proba('comes_back', '60-70', 4, 12, 2);
SELECT age_band, avg(dp_predict_proba('comes_back', age_band, days_in_hospital, medications, prior_inpatient)) AS predicted
  FROM encounters GROUP BY 1 ORDER BY 1;

SELECT scope, renyi_spent, renyi_room, delta_spent, statements_left FROM dpsql.budget;
