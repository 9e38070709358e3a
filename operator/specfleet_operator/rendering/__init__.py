"""The objects of a fleet, as complete JSON; one module per subject. Pure."""
