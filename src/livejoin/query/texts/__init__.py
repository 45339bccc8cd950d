"""Texts by rules that a query names: patterns, regular expressions, formats of times, time zones.

What binds a query looks here whether a rule can be kept, so that a refusal names the place; what evaluates it takes the
functions.
"""
