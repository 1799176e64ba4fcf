-- A synthetic hospital, 974 patients of whom one has 1,381 of 27,891 encounters. Listed before the mechanism was tuned.

-- encounters
SELECT count(*) FROM encounters;
-- patients with encounters
SELECT count(DISTINCT patient_id) FROM encounters;
-- claim costs
SELECT sum(total_claim_cost) FROM encounters;
-- average claim
SELECT avg(total_claim_cost) FROM encounters;
-- encounters by year (issue)
SELECT extract(year FROM start_ts) AS year, count(*) FROM encounters GROUP BY 1;
-- costs by year
SELECT date_trunc('year', start_ts)::date AS year, sum(total_claim_cost) FROM encounters GROUP BY 1;
-- encounters by class
SELECT encounter_class, count(*) FROM encounters GROUP BY encounter_class;
-- costs by class
SELECT encounter_class, sum(total_claim_cost) FROM encounters GROUP BY encounter_class;
-- average cost by class
SELECT encounter_class, avg(total_claim_cost) FROM encounters GROUP BY encounter_class;
-- encounters by payer
SELECT p.name, count(*) FROM encounters e JOIN payers p ON p.payer_id = e.payer_id GROUP BY p.name;
-- coverage by payer
SELECT p.name, sum(e.payer_coverage) FROM encounters e JOIN payers p ON p.payer_id = e.payer_id GROUP BY p.name;
-- procedures
SELECT count(*) FROM procedures;
-- procedures by code
SELECT code, count(*) FROM procedures GROUP BY code;
-- patients by gender
SELECT gender, count(*) FROM patients GROUP BY gender;
-- patients by county
SELECT county, count(*) FROM patients GROUP BY county;
-- patients by race and gender, with totals
SELECT race, gender, count(*) FROM patients GROUP BY ROLLUP(race, gender);
-- encounters of women by class; unit: p.patient_id
SELECT e.encounter_class, count(*) FROM encounters e JOIN patients p ON p.patient_id = e.patient_id WHERE p.gender = 'F' GROUP BY e.encounter_class;
-- deaths
SELECT count(*) FROM patients WHERE death_date IS NOT NULL;
-- inpatients of the last year
SELECT count(*) FROM encounters WHERE encounter_class = 'inpatient' AND start_ts >= '2021-01-01';
-- encounters with several procedures (issue); unit: (SELECT e.patient_id FROM encounters e WHERE e.encounter_id = t.encounter_id)
SELECT count(*) FROM (SELECT encounter_id, count(*) AS n FROM procedures GROUP BY 1) t WHERE n > 1;
-- patients with several encounters (issue); unit: t.who
SELECT count(*) FROM (SELECT 10 + patient_id AS who, count(*) AS n FROM encounters GROUP BY 1) t WHERE n > 1;
