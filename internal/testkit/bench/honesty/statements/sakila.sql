-- Sakila's rental shop: 599 customers, few people. Listed before the mechanism was tuned.

-- rentals
SELECT count(*) FROM rental;
-- payments
SELECT sum(amount) FROM payment;
-- average payment
SELECT avg(amount) FROM payment;
-- customers who rented
SELECT count(DISTINCT customer_id) FROM rental;
-- rentals by month
SELECT date_trunc('month', rental_date)::date AS month, count(*) FROM rental GROUP BY 1;
-- payments by month
SELECT date_trunc('month', payment_date)::date AS month, sum(amount) FROM payment GROUP BY 1;
-- payments by clerk
SELECT staff_id, sum(amount) FROM payment GROUP BY staff_id;
-- rentals by weekday
SELECT extract(dow FROM rental_date) AS weekday, count(*) FROM rental GROUP BY 1;
-- rentals by hour
SELECT extract(hour FROM rental_date) AS hour, count(*) FROM rental GROUP BY 1;
-- customers by store
SELECT store_id, count(*) FROM customer GROUP BY store_id;
-- active customers
SELECT activebool, count(*) FROM customer GROUP BY activebool;
-- payments by amount
SELECT amount, count(*) FROM payment GROUP BY amount;
-- late payments above nine
SELECT count(*) FROM payment WHERE amount > 9;
-- rentals that are not back
SELECT count(*) FROM rental WHERE return_date IS NULL;
-- payments of store 1; unit: p.customer_id
SELECT sum(p.amount) FROM payment p JOIN customer c ON c.customer_id = p.customer_id WHERE c.store_id = 1;
-- payments by store, with the total; unit: p.customer_id
SELECT c.store_id, sum(p.amount) FROM payment p JOIN customer c ON c.customer_id = p.customer_id GROUP BY ROLLUP(c.store_id);
-- largest payment; unit: none
SELECT max(amount) FROM payment;
