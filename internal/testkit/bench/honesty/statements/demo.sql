-- The demo under the policy that init writes: 71,518 patients, 101,766 encounters. Listed before the mechanism was tuned.

-- encounters
SELECT count(*) FROM encounters;
-- days in hospital
SELECT sum(days_in_hospital) FROM encounters;
-- lab procedures
SELECT sum(lab_procedures) FROM encounters;
-- average medications
SELECT avg(medications) FROM encounters;
-- encounters by age band
SELECT age_band, count(*) FROM encounters GROUP BY age_band;
-- earlier stays by age band
SELECT age_band, sum(prior_inpatient) FROM encounters GROUP BY age_band;
-- average days by age band
SELECT age_band, avg(days_in_hospital) FROM encounters GROUP BY age_band ORDER BY 1;
-- readmissions
SELECT readmitted, count(*) FROM encounters GROUP BY readmitted;
-- commonest diagnoses
SELECT diag_1, count(*) FROM encounters GROUP BY diag_1;
-- specialties
SELECT medical_specialty, count(*) FROM encounters GROUP BY medical_specialty;
-- drugs
SELECT drug, count(*) FROM prescriptions GROUP BY drug;
-- prescriptions by drug and change
SELECT drug, dose_change, count(*) FROM prescriptions GROUP BY drug, dose_change;
-- admissions by type
SELECT t.description, count(*) FROM encounters e JOIN admission_types t ON t.id = e.admission_type_id GROUP BY t.description;
-- days by discharge
SELECT d.description, sum(e.days_in_hospital) FROM encounters e JOIN discharges d ON d.id = e.discharge_id GROUP BY d.description;
-- patients beside each admission type (issue)
SELECT count(*) FROM patients CROSS JOIN admission_types;
-- patients by a public list with doubles (issue)
SELECT count(*) FROM patients p JOIN (VALUES ('Male', 1), ('Male', 2), ('Female', 3)) v (gender, n) ON v.gender = p.gender;
-- encounters with several prescriptions (issue); unit: (SELECT e.patient_id FROM encounters e WHERE e.encounter_id = t.encounter_id)
SELECT count(*) FROM (SELECT encounter_id, count(*) AS n FROM prescriptions GROUP BY 1) t WHERE n > 1;
-- patients with several encounters (issue); unit: t.who
SELECT count(*) FROM (SELECT 10 + patient_id AS who, count(*) AS n FROM encounters GROUP BY 1) t WHERE n > 1;
-- women and men
SELECT gender, count(*) FROM patients GROUP BY gender;
-- races of readmitted; unit: p.patient_id
SELECT p.race, count(DISTINCT p.patient_id) FROM patients p JOIN encounters e ON e.patient_id = p.patient_id WHERE e.readmitted = '<30' GROUP BY p.race;
-- stays by admission type and readmission, with totals
SELECT admission_type_id, readmitted, count(*) FROM encounters GROUP BY ROLLUP(admission_type_id, readmitted);
-- days of children
SELECT sum(days_in_hospital) FROM encounters WHERE age_band = '0-10';
-- medications and days (issue)
SELECT avg(medications * days_in_hospital) FROM encounters;
-- emergencies of many visits
SELECT count(*) FROM encounters WHERE prior_emergency > 10;
-- rate of change of medication by discharge
SELECT d.description, avg(CASE WHEN e.med_change THEN 1 ELSE 0 END) FROM encounters e JOIN discharges d ON d.id = e.discharge_id GROUP BY d.description;
-- share of the early readmitted by age band
SELECT age_band, 100.0 * sum(CASE WHEN readmitted = '<30' THEN 1 ELSE 0 END) / count(*) FROM encounters GROUP BY age_band;
