-- Trips of 12,000 riders: plain statements, listed before the mechanism was tuned.

-- trips
SELECT count(*) FROM trips;
-- riders who went
SELECT count(DISTINCT rider_id) FROM trips;
-- fares
SELECT sum(fare) FROM trips;
-- kilometres
SELECT sum(km) FROM trips;
-- average fare
SELECT avg(fare) FROM trips;
-- average rating
SELECT avg(rating) FROM trips;
-- trips by month (issue)
SELECT date_trunc('month', started_at)::date AS month, count(*) FROM trips GROUP BY 1;
-- trips by pickup zone (issue)
SELECT pickup_zone, count(*) FROM trips GROUP BY pickup_zone;
-- trips by hour (issue)
SELECT extract(hour FROM started_at) AS hour, count(*) FROM trips GROUP BY 1;
-- fares by hour
SELECT extract(hour FROM started_at) AS hour, sum(fare) FROM trips GROUP BY 1;
-- fares by payment
SELECT payment, sum(fare) FROM trips GROUP BY payment;
-- tips by payment
SELECT payment, sum(tip) FROM trips GROUP BY payment;
-- trips by rating
SELECT rating, count(*) FROM trips GROUP BY rating;
-- fares by area of pickup
SELECT z.area, sum(t.fare) FROM trips t JOIN zones z ON z.zone_id = t.pickup_zone GROUP BY z.area;
-- trips by area and month
SELECT z.area, date_trunc('month', t.started_at)::date AS month, count(*) FROM trips t JOIN zones z ON z.zone_id = t.pickup_zone GROUP BY 1, 2;
-- riders by pass
SELECT pass, count(*) FROM riders GROUP BY pass;
-- trips by pass; unit: t.rider_id
SELECT r.pass, count(*) FROM trips t JOIN riders r ON r.rider_id = t.rider_id GROUP BY r.pass;
-- average kilometres by pass; unit: t.rider_id
SELECT r.pass, avg(t.km) FROM trips t JOIN riders r ON r.rider_id = t.rider_id GROUP BY r.pass;
-- incidents; unit: (SELECT t.rider_id FROM trips t WHERE t.trip_id = incidents.trip_id)
SELECT count(*) FROM incidents;
-- incidents by kind; unit: (SELECT t.rider_id FROM trips t WHERE t.trip_id = incidents.trip_id)
SELECT kind, count(*) FROM incidents GROUP BY kind;
-- costs by kind; unit: (SELECT t.rider_id FROM trips t WHERE t.trip_id = incidents.trip_id)
SELECT kind, sum(cost) FROM incidents GROUP BY kind;
-- trips on New Year's Eve
SELECT count(*) FROM trips WHERE started_at >= '2025-12-31';
-- fares on New Year's Eve, by payment
SELECT payment, sum(fare) FROM trips WHERE started_at >= '2025-12-31' GROUP BY payment;
-- trips by passengers
SELECT passengers, count(*) FROM trips GROUP BY passengers;
-- trips by payment and rating, with totals
SELECT payment, rating, count(*) FROM trips WHERE rating IS NOT NULL GROUP BY ROLLUP(payment, rating);
-- longest; unit: none
SELECT max(km) FROM trips;
-- best and worst ratings; unit: none
SELECT max(rating), min(rating) FROM trips;
-- zones of pickup by riders
SELECT pickup_zone, count(DISTINCT rider_id) FROM trips GROUP BY pickup_zone ORDER BY 2 DESC LIMIT 20;
-- tips as a share of fares
SELECT payment, sum(tip) / sum(fare) FROM trips GROUP BY payment;
-- fares per rider
SELECT sum(fare) / count(DISTINCT rider_id) FROM trips;
-- spread of ratings
SELECT stddev(rating) FROM trips;
-- variance of ratings by payment
SELECT payment, variance(rating) FROM trips GROUP BY payment;
-- median rating by payment
SELECT payment, percentile_cont(0.5) WITHIN GROUP (ORDER BY rating) FROM trips GROUP BY payment;
-- ninth decile of ratings by pass; unit: t.rider_id
SELECT r.pass, percentile_cont(0.9) WITHIN GROUP (ORDER BY t.rating) FROM trips t JOIN riders r ON r.rider_id = t.rider_id GROUP BY r.pass;
-- fares up to each hour
SELECT extract(hour FROM started_at) AS hour, sum(sum(fare)) OVER (ORDER BY extract(hour FROM started_at)) FROM trips GROUP BY 1;
-- share of the trips by payment
SELECT payment, 100.0 * count(*) / (SELECT count(*) FROM trips) FROM trips GROUP BY payment;
