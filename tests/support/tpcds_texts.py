"""A part of the schema of TPC-DS, and queries of our own of the kinds that its 99 have."""

from __future__ import annotations

SCHEMA = """
CREATE TABLE date_dim (d_date_sk BIGINT, d_date DATE, d_month_seq BIGINT, d_year BIGINT, d_moy BIGINT);
CREATE TABLE item (i_item_sk BIGINT, i_item_id VARCHAR, i_brand_id BIGINT, i_brand VARCHAR, i_class VARCHAR,
    i_category VARCHAR, i_manufact_id BIGINT, i_manufact VARCHAR, i_manager_id BIGINT, i_product_name VARCHAR);
CREATE TABLE store (s_store_sk BIGINT, s_store_id VARCHAR, s_state VARCHAR);
CREATE TABLE warehouse (w_warehouse_sk BIGINT, w_warehouse_name VARCHAR);
CREATE TABLE customer (c_customer_sk BIGINT, c_customer_id VARCHAR, c_current_addr_sk BIGINT, c_last_name VARCHAR);
CREATE TABLE customer_address (ca_address_sk BIGINT, ca_state VARCHAR, ca_zip VARCHAR);
CREATE TABLE customer_demographics (cd_demo_sk BIGINT, cd_gender VARCHAR, cd_marital_status VARCHAR);
CREATE TABLE promotion (p_promo_sk BIGINT, p_channel_email VARCHAR, p_channel_event VARCHAR);
CREATE TABLE inventory (inv_date_sk BIGINT, inv_item_sk BIGINT, inv_warehouse_sk BIGINT, inv_quantity_on_hand INTEGER);
CREATE TABLE store_sales (ss_sold_date_sk BIGINT, ss_item_sk BIGINT, ss_customer_sk BIGINT, ss_cdemo_sk BIGINT,
    ss_store_sk BIGINT, ss_promo_sk BIGINT, ss_ticket_number BIGINT, ss_quantity BIGINT, ss_list_price DECIMAL(7,2),
    ss_sales_price DECIMAL(7,2), ss_ext_sales_price DECIMAL(7,2), ss_coupon_amt DECIMAL(7,2));
CREATE TABLE store_returns (sr_returned_date_sk BIGINT, sr_item_sk BIGINT, sr_customer_sk BIGINT, sr_store_sk BIGINT,
    sr_ticket_number BIGINT, sr_return_amt DECIMAL(7,2));
CREATE TABLE web_sales (ws_sold_date_sk BIGINT, ws_item_sk BIGINT, ws_bill_customer_sk BIGINT, ws_warehouse_sk BIGINT,
    ws_order_number BIGINT, ws_ext_sales_price DECIMAL(7,2));
"""

TEXTS = {
    "more than the average of a state": (
        "WITH refunds AS (SELECT sr_customer_sk AS customer, ca_state AS state, SUM(sr_return_amt) AS total "
        "FROM store_returns, customer, customer_address WHERE sr_customer_sk = c_customer_sk "
        "AND c_current_addr_sk = ca_address_sk GROUP BY sr_customer_sk, ca_state) "
        "SELECT c_customer_id, total FROM refunds a JOIN customer ON c_customer_sk = a.customer "
        "WHERE total > (SELECT AVG(total) * 1.1 FROM refunds b WHERE a.state = b.state) ORDER BY 1, 2 LIMIT 20"
    ),
    "two channels in two years": (
        "WITH totals AS (SELECT c_customer_id AS id, d_year AS y, SUM(ss_ext_sales_price) AS total, 's' AS channel "
        "FROM customer, store_sales, date_dim WHERE c_customer_sk = ss_customer_sk AND ss_sold_date_sk = d_date_sk "
        "GROUP BY c_customer_id, d_year UNION ALL SELECT c_customer_id, d_year, SUM(ws_ext_sales_price), 'w' "
        "FROM customer, web_sales, date_dim WHERE c_customer_sk = ws_bill_customer_sk AND ws_sold_date_sk = d_date_sk "
        "GROUP BY c_customer_id, d_year) SELECT s.id, s.y, s.total, w.total AS other FROM totals s, totals w "
        "WHERE s.id = w.id AND s.y = w.y - 1 AND s.y IN (1999, 2000) AND s.channel = 's' AND w.channel = 'w' "
        "AND CASE WHEN s.total > 0 THEN w.total / s.total END > 0.5"
    ),
    "ranks over a rollup": (
        "SELECT * FROM (SELECT i_category, i_class, SUM(ss_quantity * ss_sales_price) AS total, "
        "RANK() OVER (PARTITION BY i_category ORDER BY SUM(ss_quantity * ss_sales_price) DESC) AS rk "
        "FROM store_sales, item WHERE ss_item_sk = i_item_sk GROUP BY ROLLUP (i_category, i_class)) t WHERE rk <= 2 "
        "ORDER BY i_category, rk LIMIT 9"
    ),
    "a rank of every row": (
        "SELECT s_state, SUM(ss_ext_sales_price) AS total, GROUPING(s_state) AS level, RANK() OVER (PARTITION BY "
        "GROUPING(s_state) ORDER BY SUM(ss_ext_sales_price) DESC) AS place FROM store_sales, store "
        "WHERE ss_store_sk = s_store_sk GROUP BY ROLLUP (s_state) QUALIFY place <= 1000000"
    ),
    "customers of both channels": (
        "SELECT COUNT(*) AS n FROM (SELECT c_last_name, d_date FROM store_sales, customer, date_dim "
        "WHERE ss_customer_sk = c_customer_sk AND ss_sold_date_sk = d_date_sk AND d_month_seq BETWEEN 1195 AND 1204 "
        "INTERSECT SELECT c_last_name, d_date FROM web_sales, customer, date_dim "
        "WHERE ws_bill_customer_sk = c_customer_sk AND ws_sold_date_sk = d_date_sk) both_channels LIMIT 100"
    ),
    "either channel": (
        "WITH s AS (SELECT ss_customer_sk AS c, ss_item_sk AS i FROM store_sales GROUP BY 1, 2), "
        "w AS (SELECT ws_bill_customer_sk AS c, ws_item_sk AS i FROM web_sales GROUP BY 1, 2) "
        "SELECT SUM(CASE WHEN w.c IS NULL THEN 1 ELSE 0 END) AS here, SUM(CASE WHEN s.c IS NULL THEN 1 ELSE 0 END) "
        "AS there FROM s FULL OUTER JOIN w ON s.c = w.c AND s.i = w.i LIMIT 100"
    ),
    "one row of each channel": (
        "SELECT * FROM (SELECT AVG(ss_list_price) AS mean, COUNT(DISTINCT ss_list_price) AS prices FROM store_sales "
        "WHERE ss_quantity BETWEEN 1 AND 2) a, (SELECT COUNT(*) AS orders FROM web_sales) b LIMIT 100"
    ),
    "bought here, and there or returned": (
        "SELECT ca_state, COUNT(*) AS n FROM customer c, customer_address WHERE c.c_current_addr_sk = ca_address_sk "
        "AND EXISTS (SELECT * FROM store_sales WHERE c.c_customer_sk = ss_customer_sk) AND (EXISTS (SELECT * "
        "FROM web_sales WHERE c.c_customer_sk = ws_bill_customer_sk) OR EXISTS (SELECT * FROM store_returns "
        "WHERE c.c_customer_sk = sr_customer_sk AND sr_return_amt > 2)) GROUP BY ca_state"
    ),
    "orders of two warehouses without a return": (
        "SELECT COUNT(DISTINCT ws_order_number) AS orders, SUM(ws_ext_sales_price) AS total FROM web_sales a "
        "WHERE EXISTS (SELECT * FROM web_sales b WHERE a.ws_order_number = b.ws_order_number "
        "AND a.ws_warehouse_sk <> b.ws_warehouse_sk) AND NOT EXISTS (SELECT * FROM store_returns "
        "WHERE a.ws_order_number = sr_ticket_number AND a.ws_item_sk = sr_item_sk) ORDER BY 1 LIMIT 100"
    ),
    "far from the mean of its class": (
        "SELECT * FROM (SELECT i_class, d_moy, SUM(ss_sales_price) AS total, AVG(SUM(ss_sales_price)) OVER "
        "(PARTITION BY i_class) AS mean FROM item, store_sales, date_dim WHERE ss_item_sk = i_item_sk "
        "AND ss_sold_date_sk = d_date_sk AND d_year IN (1999, 2000) GROUP BY i_class, d_moy) t "
        "WHERE CASE WHEN mean > 0 THEN ABS(total - mean) / mean END > 0.1 ORDER BY total - mean, i_class LIMIT 20"
    ),
    "kept what was not returned": (
        "SELECT ss_customer_sk, SUM(CASE WHEN sr_return_amt IS NULL THEN ss_sales_price ELSE ss_sales_price "
        "- sr_return_amt END) AS kept FROM store_sales LEFT JOIN store_returns ON sr_item_sk = ss_item_sk "
        "AND sr_ticket_number = ss_ticket_number GROUP BY ss_customer_sk ORDER BY kept, ss_customer_sk LIMIT 10"
    ),
}
