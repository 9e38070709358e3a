"""What the programs of a fleet are told, on every substrate: arguments and environments."""
