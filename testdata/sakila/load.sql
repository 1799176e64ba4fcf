-- Loads Sakila into an empty database. Run it in this folder: psql "$URL" -q1f load.sql
\set ON_ERROR_STOP on
\i schema.sql
\copy country from program 'gzip -dc country.csv.gz' csv header
\copy city from program 'gzip -dc city.csv.gz' csv header
\copy address from program 'gzip -dc address.csv.gz' csv header
\copy language from program 'gzip -dc language.csv.gz' csv header
\copy actor from program 'gzip -dc actor.csv.gz' csv header
\copy category from program 'gzip -dc category.csv.gz' csv header
\copy film from program 'gzip -dc film.csv.gz' csv header
\copy film_actor from program 'gzip -dc film_actor.csv.gz' csv header
\copy film_category from program 'gzip -dc film_category.csv.gz' csv header
\copy staff from program 'gzip -dc staff.csv.gz' csv header
\copy store from program 'gzip -dc store.csv.gz' csv header
\copy customer from program 'gzip -dc customer.csv.gz' csv header
\copy inventory from program 'gzip -dc inventory.csv.gz' csv header
\copy rental from program 'gzip -dc rental.csv.gz' csv header
\copy payment from program 'gzip -dc payment.csv.gz' csv header
\i keys.sql
