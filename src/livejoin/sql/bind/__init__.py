"""Texts to bound queries: names are looked up, sub-queries unnested, SELECTs lowered to relations."""
