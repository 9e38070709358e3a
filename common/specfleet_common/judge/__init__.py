"""The statistics of promotion: records in, verdicts with their reasons out. Pure.

What is tested, the formulas and their sources: docs/promotion-statistics.md.
"""
