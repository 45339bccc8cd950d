"""The queries of DYN (Idris, Ugarte, Vansummeren, SIGMOD 2017, appendix D), with the columns' names of the benchmarks.

Full joins (FQ1 to FQ5) show every column, here the keys and one value of each table, so that no name stands twice. The
aggregates are those of the benchmarks without ORDER BY and LIMIT; Q13 joins in place of its outer join, and Q16 has
IN in place of NOT IN.
"""

from __future__ import annotations

TPCH = {
    "FQ1": (
        "SELECT o_orderkey, o_orderdate, l_linenumber, l_quantity, p_partkey, p_name, ps_suppkey, ps_availqty "
        "FROM orders, lineitem, part, partsupp WHERE o_orderkey = l_orderkey AND l_partkey = p_partkey "
        "AND l_partkey = ps_partkey AND l_suppkey = ps_suppkey"
    ),
    "FQ2": (
        "SELECT l_linenumber, l_quantity, o_orderkey, o_orderdate, c_custkey, c_name, p_partkey, p_name, n_name "
        "FROM lineitem, orders, customer, part, nation WHERE l_orderkey = o_orderkey AND o_custkey = c_custkey "
        "AND l_partkey = p_partkey AND c_nationkey = n_nationkey"
    ),
    "FQ3": (
        "SELECT o_orderkey, o_orderdate, l_linenumber, l_quantity, ps_partkey, ps_availqty, s_suppkey, s_name, c_name "
        "FROM orders, lineitem, partsupp, supplier, customer WHERE o_orderkey = l_orderkey AND l_suppkey = ps_suppkey "
        "AND l_suppkey = s_suppkey AND o_custkey = c_custkey"
    ),
    "FQ4": (
        "SELECT l_orderkey, l_linenumber, l_quantity, s_suppkey, s_name, ps_partkey, ps_availqty "
        "FROM lineitem, supplier, partsupp WHERE l_suppkey = s_suppkey AND l_suppkey = ps_suppkey"
    ),
    "Q1": (
        "SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price, "
        "SUM(l_extendedprice * (1 - l_discount)) AS sum_disc_price, "
        "SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, AVG(l_quantity) AS avg_qty, "
        "AVG(l_extendedprice) AS avg_price, AVG(l_discount) AS avg_disc, COUNT(*) AS count_order FROM lineitem "
        "WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '108' DAY GROUP BY l_returnflag, l_linestatus"
    ),
    "Q3": (
        "SELECT l_orderkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority "
        "FROM customer, orders, lineitem WHERE c_mktsegment = 'AUTOMOBILE' AND c_custkey = o_custkey "
        "AND l_orderkey = o_orderkey AND o_orderdate < DATE '1995-03-13' AND l_shipdate > DATE '1995-03-13' "
        "GROUP BY l_orderkey, o_orderdate, o_shippriority"
    ),
    "Q4": (
        "SELECT o_orderpriority, COUNT(*) AS order_count FROM orders WHERE o_orderdate >= DATE '1995-01-01' "
        "AND o_orderdate < DATE '1995-01-01' + INTERVAL '3' MONTH AND EXISTS (SELECT * FROM lineitem "
        "WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) GROUP BY o_orderpriority"
    ),
    "Q6": (
        "SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' "
        "AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 "
        "AND l_quantity < 24"
    ),
    "Q9": (
        "SELECT nation, o_year, SUM(amount) AS sum_profit FROM (SELECT n_name AS nation, "
        "EXTRACT(year FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity "
        "AS amount FROM part, supplier, lineitem, partsupp, orders, nation WHERE s_suppkey = l_suppkey "
        "AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey AND o_orderkey = l_orderkey "
        "AND s_nationkey = n_nationkey AND p_name LIKE '%dim%') AS profit GROUP BY nation, o_year"
    ),
    "Q12": (
        "SELECT l_shipmode, SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 "
        "ELSE 0 END) AS high_line_count, SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' "
        "THEN 1 ELSE 0 END) AS low_line_count FROM orders, lineitem WHERE o_orderkey = l_orderkey "
        "AND l_shipmode IN ('RAIL', 'FOB') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate "
        "AND l_receiptdate >= DATE '1997-01-01' AND l_receiptdate < DATE '1997-01-01' + INTERVAL '1' YEAR "
        "GROUP BY l_shipmode"
    ),
    "Q13": (
        "SELECT c_count, COUNT(*) AS custdist FROM (SELECT c_custkey, COUNT(o_orderkey) AS c_count "
        "FROM customer, orders WHERE c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' "
        "GROUP BY c_custkey) AS c_orders GROUP BY c_count"
    ),
    "Q16": (
        "SELECT p_brand, p_type, p_size, COUNT(DISTINCT ps_suppkey) AS supplier_cnt FROM partsupp, part "
        "WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#34' AND p_type NOT LIKE 'LARGE BRUSHED%' "
        "AND p_size IN (48, 19, 12, 4, 41, 7, 21, 39) AND ps_suppkey IN (SELECT s_suppkey FROM supplier "
        "WHERE s_comment NOT LIKE '%Customer%Complaints%') GROUP BY p_brand, p_type, p_size"
    ),
    "Q18": (
        "SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, SUM(l_quantity) AS quantity "
        "FROM customer, orders, lineitem WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey "
        "HAVING SUM(l_quantity) > 314) AND c_custkey = o_custkey AND o_orderkey = l_orderkey "
        "GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice"
    ),
}
"""Those over TPC-H."""

TPCDS = {
    "FQ5": (
        "SELECT d_date_sk, d_date, i_item_sk, i_brand, ss_ticket_number, ss_quantity FROM date_dim, store_sales, item "
        "WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk"
    ),
    "Q3": (
        "SELECT d_year, i_brand_id, i_brand, SUM(ss_ext_sales_price) AS sum_agg FROM date_dim, store_sales, item "
        "WHERE d_date_sk = ss_sold_date_sk AND ss_item_sk = i_item_sk AND d_moy = 12 AND i_manufact_id = 436 "
        "GROUP BY d_year, i_brand, i_brand_id"
    ),
    "Q7": (
        "SELECT i_item_id, AVG(ss_quantity) AS agg1, AVG(ss_list_price) AS agg2, AVG(ss_coupon_amt) AS agg3, "
        "AVG(ss_sales_price) AS agg4 FROM store_sales, customer_demographics, date_dim, item, promotion "
        "WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk AND ss_cdemo_sk = cd_demo_sk "
        "AND ss_promo_sk = p_promo_sk AND cd_gender = 'F' AND cd_marital_status = 'W' "
        "AND (p_channel_email = 'N' OR p_channel_event = 'N') AND d_year = 1998 GROUP BY i_item_id"
    ),
    "Q19": (
        "SELECT i_brand_id, i_brand, i_manufact_id, i_manufact, SUM(ss_ext_sales_price) AS ext_price "
        "FROM date_dim, store_sales, item, customer, customer_address, store WHERE d_date_sk = ss_sold_date_sk "
        "AND ss_item_sk = i_item_sk AND i_manager_id = 7 AND d_moy = 11 AND d_year = 1999 "
        "AND ss_customer_sk = c_customer_sk AND c_current_addr_sk = ca_address_sk AND ss_store_sk = s_store_sk "
        "GROUP BY i_brand, i_brand_id, i_manufact_id, i_manufact"
    ),
    "Q22": (
        "SELECT i_product_name, i_brand, i_class, i_category, SUM(inv_quantity_on_hand) AS qoh "
        "FROM date_dim, inventory, item, warehouse WHERE d_date_sk = inv_date_sk AND inv_item_sk = i_item_sk "
        "AND inv_warehouse_sk = w_warehouse_sk AND d_month_seq BETWEEN 1193 AND 1204 "
        "GROUP BY i_product_name, i_brand, i_class, i_category"
    ),
}
"""Those over TPC-DS."""
