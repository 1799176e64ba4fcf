-- Run by the image of PostgreSQL as superuser in the database clinic, once, when its volume is empty.
\getenv reader_password READER_PASSWORD

CREATE TABLE patients (
  patient_id integer PRIMARY KEY,
  gender     text NOT NULL CHECK (gender IN ('f', 'm')),
  born       integer NOT NULL
);
CREATE TABLE wards (
  ward_id integer PRIMARY KEY,
  name    text NOT NULL
);
CREATE TABLE stays (
  stay_id    integer PRIMARY KEY,
  patient_id integer NOT NULL REFERENCES patients (patient_id),
  ward_id    integer NOT NULL REFERENCES wards (ward_id),
  days       integer NOT NULL
);

-- Nobody's data: numbers that look like some.
INSERT INTO wards VALUES (1, 'medicine'), (2, 'surgery'), (3, 'children');
INSERT INTO patients SELECT i, CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END, 1920 + i * 7 % 100 FROM generate_series(1, 2000) AS i;
INSERT INTO stays SELECT i, 1 + i * 13 % 2000, 1 + i % 3, 1 + i * 31 % 14 FROM generate_series(1, 5000) AS i;
ANALYZE;

-- dpsql's role reads what the policy lists, and that is all.
CREATE ROLE dpsql_reader LOGIN PASSWORD :'reader_password' NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
REVOKE ALL ON DATABASE clinic FROM PUBLIC;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT CONNECT ON DATABASE clinic TO dpsql_reader;
GRANT USAGE ON SCHEMA public TO dpsql_reader;
GRANT SELECT ON patients, stays, wards TO dpsql_reader;
