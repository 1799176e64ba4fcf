-- A shop of 50,000 customers; totals have a declared range, what was paid has none: plain statements, listed before the mechanism was tuned. Of each the line before says its name.
-- "unit:" is the SQL that leads from a row to its person, for the yardstick; none: there is no yardstick.

-- orders
SELECT count(*) FROM orders;
-- customers who ordered
SELECT count(DISTINCT customer_id) FROM orders;
-- revenue
SELECT sum(paid) FROM orders;
-- revenue per day, three days (issue)
SELECT date_trunc('day', ordered_at)::date AS day, sum(paid) FROM orders WHERE ordered_at >= '2025-03-03' AND ordered_at < '2025-03-06' GROUP BY 1;
-- revenue per channel of three days (issue)
SELECT channel, sum(paid) FROM orders WHERE ordered_at >= '2025-03-03' AND ordered_at < '2025-03-06' GROUP BY channel;
-- orders by status (issue)
SELECT status, count(*) FROM orders GROUP BY status;
-- orders by weekday (issue)
SELECT extract(dow FROM ordered_at) AS weekday, count(*) FROM orders GROUP BY 1;
-- largest total (issue); unit: none
SELECT max(total) FROM orders;
-- average payment
SELECT avg(paid) FROM orders;
-- average total
SELECT avg(total) FROM orders;
-- average total by channel
SELECT channel, avg(total) FROM orders GROUP BY channel;
-- orders by month
SELECT date_trunc('month', ordered_at)::date AS month, count(*) FROM orders GROUP BY 1 ORDER BY 1;
-- revenue by month and channel
SELECT date_trunc('month', ordered_at)::date AS month, channel, sum(paid) FROM orders GROUP BY 1, 2;
-- orders by hour
SELECT extract(hour FROM ordered_at) AS hour, count(*) FROM orders GROUP BY 1;
-- orders by coupon
SELECT coupon, count(*) FROM orders WHERE coupon IS NOT NULL GROUP BY coupon;
-- revenue by status and channel, with totals
SELECT status, channel, sum(paid) FROM orders GROUP BY ROLLUP(status, channel);
-- customers by country; unit: customer_id
SELECT country, count(*) FROM customers GROUP BY country;
-- customers by segment; unit: customer_id
SELECT segment, count(*) FROM customers GROUP BY segment;
-- orders of VIPs; unit: o.customer_id
SELECT count(*) FROM orders o JOIN customers c ON c.customer_id = o.customer_id WHERE c.segment = 'vip';
-- revenue by segment; unit: o.customer_id
SELECT c.segment, sum(o.total) FROM orders o JOIN customers c ON c.customer_id = o.customer_id GROUP BY c.segment;
-- orders by country; unit: o.customer_id
SELECT c.country, count(*) FROM orders o JOIN customers c ON c.customer_id = o.customer_id GROUP BY c.country;
-- items sold; unit: (SELECT coalesce(o.customer_id, -o.order_id) FROM orders o WHERE o.order_id = order_items.order_id)
SELECT sum(quantity) FROM order_items;
-- turnover of items; unit: (SELECT coalesce(o.customer_id, -o.order_id) FROM orders o WHERE o.order_id = order_items.order_id)
SELECT sum(quantity * price) FROM order_items;
-- turnover by category; unit: (SELECT coalesce(o.customer_id, -o.order_id) FROM orders o WHERE o.order_id = i.order_id)
SELECT p.category, sum(i.quantity * i.price) FROM order_items i JOIN products p ON p.product_id = i.product_id GROUP BY p.category;
-- items by channel; unit: coalesce(o.customer_id, -o.order_id)
SELECT o.channel, sum(i.quantity) FROM order_items i JOIN orders o ON o.order_id = i.order_id GROUP BY o.channel;
-- page views; unit: coalesce(customer_id, -view_id)
SELECT count(*) FROM page_views;
-- page views by device; unit: coalesce(customer_id, -view_id)
SELECT device, count(*) FROM page_views GROUP BY device;
-- seconds by path, the ten first; unit: coalesce(customer_id, -view_id)
SELECT path, sum(seconds) FROM page_views GROUP BY path ORDER BY 2 DESC LIMIT 10;
-- customers with views by device; unit: coalesce(customer_id, -view_id)
SELECT device, count(DISTINCT customer_id) FROM page_views GROUP BY device;
-- orders of few: returned by phone with a coupon
SELECT count(*) FROM orders WHERE status = 'returned' AND channel = 'phone' AND coupon IS NOT NULL;
-- revenue of Liechtenstein; unit: o.customer_id
SELECT sum(o.paid) FROM orders o JOIN customers c ON c.customer_id = o.customer_id WHERE c.country = 'LI';
-- share of cancelled orders
SELECT avg(CASE WHEN status = 'cancelled' THEN 1 ELSE 0 END) FROM orders;
-- value of an order by status
SELECT status, sum(paid) / count(*) FROM orders GROUP BY status;
-- revenue per customer
SELECT sum(paid) / count(DISTINCT customer_id) FROM orders;
-- rounded average by channel
SELECT channel, round(avg(total), 2) FROM orders GROUP BY channel;
-- countries with more than 5,000 orders; unit: o.customer_id
SELECT c.country, count(*) FROM orders o JOIN customers c ON c.customer_id = o.customer_id GROUP BY c.country HAVING count(*) > 5000;
-- spread of totals
SELECT stddev(total) FROM orders;
-- spread of totals by channel
SELECT channel, stddev(total) FROM orders GROUP BY channel;
-- variance of totals by status
SELECT status, variance(total) FROM orders GROUP BY status;
-- median total
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) FROM orders;
-- ninth decile of totals by channel
SELECT channel, percentile_cont(0.9) WITHIN GROUP (ORDER BY total) FROM orders GROUP BY channel;
-- orders up to each channel
SELECT channel, sum(count(*)) OVER (ORDER BY channel) FROM orders GROUP BY channel;
-- share of the revenue by channel
SELECT channel, sum(paid) / sum(sum(paid)) OVER () FROM orders GROUP BY channel;
