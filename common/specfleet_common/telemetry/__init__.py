"""Names and meaning of the metrics that the components export."""
