-- A column of each type, and names that need quotes.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN percent AS numeric(5, 2) CHECK (VALUE BETWEEN 0 AND 100);
CREATE DOMAIN short AS varchar(8);

CREATE TABLE kinds (
    id integer PRIMARY KEY,
    small smallint,
    big bigint NOT NULL,
    amount numeric,
    price numeric(12, 2),
    rate percent,
    single real,
    dbl double precision,
    flag boolean,
    label text,
    code varchar(10),
    nick short,
    fixed char(5),
    one "char",
    day date,
    clock time,
    clock3 time(3),
    zoned timetz,
    stamp timestamp,
    stamp0 timestamp(0),
    moment timestamptz,
    span interval,
    days interval day to second(3),
    key uuid,
    bytes bytea,
    doc json,
    docb jsonb,
    feeling mood,
    ints integer[],
    labels text[],
    prices numeric(12, 2)[],
    stamps timestamptz[],
    matrix integer[][]
);

CREATE TABLE people (
    person_id integer PRIMARY KEY,
    name text NOT NULL,
    city varchar(20),
    born date
);

CREATE TABLE visits (
    visit_id bigint PRIMARY KEY,
    person_id integer NOT NULL REFERENCES people,
    at timestamptz NOT NULL,
    cost numeric(10, 2),
    note text
);

CREATE SCHEMA other;
CREATE TABLE other.people (person_id integer, weight real);

CREATE TABLE "Mixed Case" (
    "Id" integer PRIMARY KEY,
    "select" text,
    "a""b" integer,
    "größe" numeric(6, 1),
    "desc" boolean
);

CREATE VIEW adults AS SELECT person_id, name, born FROM people WHERE born < '2000-01-01';
