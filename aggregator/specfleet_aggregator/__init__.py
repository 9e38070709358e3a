"""The aggregator: one process per fleet that turns workers' deltas into versions."""
