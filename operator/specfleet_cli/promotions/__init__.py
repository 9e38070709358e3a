"""Candidates and a user's say in them: `promotions`, `approve`, `abort` and `rejudge`."""
