"""Traffic for running engines, and what it shows about them."""
