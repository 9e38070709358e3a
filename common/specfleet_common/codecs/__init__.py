"""Fewer bytes between workers and the aggregator: rounded deltas up, lossless patches down."""
