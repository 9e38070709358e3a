"""Audits: commands that hold outputs to the target's own, and the aggregator to its limits."""
