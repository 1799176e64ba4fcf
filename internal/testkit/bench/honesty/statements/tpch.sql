-- TPC-H at SF 0.1 with the customer as unit, 15,000 customers; queries in their own words, those of them that are plain statements. What is made with them is
-- derived from TPC-H and not comparable to published TPC-H results. Listed before the mechanism was tuned.

-- orders
SELECT count(*) FROM orders;
-- orders' totals
SELECT sum(o_totalprice) FROM orders;
-- orders' totals of 59 customers (issue)
SELECT sum(o_totalprice) FROM orders WHERE o_custkey <= 88;
-- orders' totals of 441 customers
SELECT sum(o_totalprice) FROM orders WHERE o_custkey <= 661;
-- quantity; unit: (SELECT o_custkey FROM orders WHERE o_orderkey = l_orderkey)
SELECT sum(l_quantity) FROM lineitem;
-- Q1, quantities; unit: (SELECT o_custkey FROM orders WHERE o_orderkey = l_orderkey)
SELECT l_returnflag, l_linestatus, sum(l_quantity) FROM lineitem WHERE l_shipdate <= date '1998-09-02' GROUP BY l_returnflag, l_linestatus;
-- Q1, all of it; unit: (SELECT o_custkey FROM orders WHERE o_orderkey = l_orderkey)
SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)), avg(l_quantity), avg(l_discount), count(*) FROM lineitem WHERE l_shipdate <= date '1998-09-02' GROUP BY l_returnflag, l_linestatus;
-- Q3, revenue by priority; unit: o_custkey
SELECT o_shippriority, sum(l_extendedprice * (1 - l_discount)) FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey WHERE c_mktsegment = 'BUILDING' AND o_orderdate < date '1995-03-15' AND l_shipdate > date '1995-03-15' GROUP BY o_shippriority;
-- Q4, orders by priority
SELECT o_orderpriority, count(*) FROM orders WHERE o_orderdate >= date '1993-07-01' AND o_orderdate < date '1993-10-01' AND EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) GROUP BY o_orderpriority;
-- Q5, revenue by nation (issue); unit: o_custkey
SELECT n_name, sum(l_extendedprice * (1 - l_discount)) FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey JOIN supplier ON l_suppkey = s_suppkey AND c_nationkey = s_nationkey JOIN nation ON s_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey WHERE r_name = 'ASIA' AND o_orderdate >= date '1994-01-01' AND o_orderdate < date '1995-01-01' GROUP BY n_name;
-- Q6, discounts of a year; unit: (SELECT o_custkey FROM orders WHERE o_orderkey = l_orderkey)
SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24;
-- Q7, trade of two nations (issue); unit: o_custkey
SELECT n1.n_name, n2.n_name, extract(year FROM l_shipdate), sum(l_extendedprice * (1 - l_discount)) FROM supplier JOIN lineitem ON s_suppkey = l_suppkey JOIN orders ON o_orderkey = l_orderkey JOIN customer ON c_custkey = o_custkey JOIN nation n1 ON s_nationkey = n1.n_nationkey JOIN nation n2 ON c_nationkey = n2.n_nationkey WHERE (n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY' OR n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE') AND l_shipdate BETWEEN date '1995-01-01' AND date '1996-12-31' GROUP BY 1, 2, 3;
-- Q8, volume of a kind of part by year (issue); unit: o_custkey
SELECT extract(year FROM o_orderdate), sum(l_extendedprice * (1 - l_discount)) FROM part JOIN lineitem ON p_partkey = l_partkey JOIN orders ON l_orderkey = o_orderkey WHERE o_orderdate BETWEEN date '1995-01-01' AND date '1996-12-31' AND p_type = 'ECONOMY ANODIZED STEEL' GROUP BY 1;
-- Q12, lines by ship mode; unit: o_custkey
SELECT l_shipmode, count(*) FROM orders JOIN lineitem ON o_orderkey = l_orderkey WHERE l_shipmode IN ('MAIL', 'SHIP') AND l_receiptdate >= date '1994-01-01' AND l_receiptdate < date '1995-01-01' AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate GROUP BY l_shipmode;
-- Q14, promotions in a month; unit: (SELECT o_custkey FROM orders WHERE o_orderkey = l_orderkey)
SELECT sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) FROM lineitem JOIN part ON l_partkey = p_partkey WHERE l_shipdate >= date '1995-09-01' AND l_shipdate < date '1995-10-01';
-- Q17, small orders of a brand (issue); unit: (SELECT o_custkey FROM orders WHERE o_orderkey = l_orderkey)
SELECT sum(l_extendedprice) FROM lineitem JOIN part ON p_partkey = l_partkey WHERE p_brand = 'Brand#23' AND p_container = 'MED BOX' AND l_quantity < 5;
-- Q19, discounted brands (issue); unit: (SELECT o_custkey FROM orders WHERE o_orderkey = l_orderkey)
SELECT sum(l_extendedprice * (1 - l_discount)) FROM lineitem JOIN part ON p_partkey = l_partkey WHERE l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON' AND (p_brand = 'Brand#12' AND l_quantity BETWEEN 1 AND 11 AND p_size BETWEEN 1 AND 5 OR p_brand = 'Brand#23' AND l_quantity BETWEEN 10 AND 20 AND p_size BETWEEN 1 AND 10 OR p_brand = 'Brand#34' AND l_quantity BETWEEN 20 AND 30 AND p_size BETWEEN 1 AND 15);
-- customers of France (issue); unit: c_custkey
SELECT n_name, count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey WHERE n_name = 'FRANCE' GROUP BY n_name;
-- customers by nation; unit: c_custkey
SELECT n_name, count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name;
-- orders by status and priority
SELECT o_orderstatus, o_orderpriority, count(*) FROM orders GROUP BY 1, 2;
-- revenue by year and month
SELECT date_trunc('month', o_orderdate)::date AS month, sum(o_totalprice) FROM orders GROUP BY 1;
-- balances by segment; unit: c_custkey
SELECT c_mktsegment, avg(c_acctbal) FROM customer GROUP BY c_mktsegment;
-- Q14, share of promotions; unit: (SELECT o_custkey FROM orders WHERE o_orderkey = l_orderkey)
SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) / sum(l_extendedprice * (1 - l_discount)) FROM lineitem JOIN part ON l_partkey = p_partkey WHERE l_shipdate >= date '1995-09-01' AND l_shipdate < date '1995-10-01';
