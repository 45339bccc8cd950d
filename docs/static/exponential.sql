SELECT f.feature, u.user_id
FROM features f JOIN entitled e ON e.feature = f.feature JOIN users u ON u.user_id = e.user_id
