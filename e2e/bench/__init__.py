"""Measurements of the product's parts on this machine, as one JSON document."""
