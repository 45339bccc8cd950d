SELECT o.id, o.shop, r.region, r.country
FROM orders o JOIN shops s ON s.shop = o.shop
JOIN products p ON p.product = o.product JOIN regions r ON r.region = p.region
