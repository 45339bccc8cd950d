"""Static and dynamic relations: classes, orders, widths, rewritings."""
