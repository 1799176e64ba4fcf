-- A real gift retailer's lines, 4,383 customers, a heavy tail, a fifth of the lines without a customer. Listed before the mechanism was tuned.

-- lines
SELECT count(*) FROM lines;
-- customers
SELECT count(DISTINCT customer_id) FROM lines;
-- pieces
SELECT sum(quantity) FROM lines;
-- revenue
SELECT sum(quantity * price) FROM lines;
-- revenue of sales
SELECT sum(quantity * price) FROM lines WHERE quantity > 0;
-- average quantity
SELECT avg(quantity) FROM lines WHERE quantity > 0;
-- average price
SELECT avg(price) FROM lines WHERE price > 0;
-- lines by country
SELECT country, count(*) FROM lines GROUP BY country;
-- revenue by country
SELECT country, sum(quantity * price) FROM lines GROUP BY country;
-- lines by month
SELECT date_trunc('month', invoice_date)::date AS month, count(*) FROM lines GROUP BY 1;
-- revenue by month
SELECT date_trunc('month', invoice_date)::date AS month, sum(quantity * price) FROM lines WHERE quantity > 0 GROUP BY 1 ORDER BY 1;
-- lines by hour
SELECT extract(hour FROM invoice_date) AS hour, count(*) FROM lines GROUP BY 1;
-- cancelled lines
SELECT count(*) FROM lines WHERE quantity < 0;
-- lines of Norway
SELECT count(*) FROM lines WHERE country = 'Norway';
-- articles, the twenty first
SELECT stock_code, count(*) FROM lines GROUP BY stock_code ORDER BY 2 DESC LIMIT 20;
-- articles by customers
SELECT stock_code, count(DISTINCT customer_id) FROM lines GROUP BY stock_code;
-- customers by month
SELECT date_trunc('month', invoice_date)::date AS month, count(DISTINCT customer_id) FROM lines GROUP BY 1;
-- dearest lines
SELECT count(*) FROM lines WHERE price > 100;
