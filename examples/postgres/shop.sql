CREATE TABLE customers (id bigint PRIMARY KEY, name text NOT NULL);
CREATE TABLE orders (id bigint PRIMARY KEY, customer bigint NOT NULL, amount numeric(12, 2) NOT NULL);
INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bob'), (3, 'Cy');
INSERT INTO orders VALUES (1, 1, 20.00), (2, 1, 5.50), (3, 2, 12.25);
CREATE PUBLICATION livejoin_shop FOR TABLE customers, orders;
