"""Failures happen to a fleet of real processes under traffic; its engines are simulated."""
