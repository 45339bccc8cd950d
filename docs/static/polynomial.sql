SELECT DISTINCT o.product, o.shop, i.customer
FROM offers o JOIN shops s ON s.shop = o.shop
JOIN tags t ON t.product = o.product JOIN interests i ON i.tag = t.tag
