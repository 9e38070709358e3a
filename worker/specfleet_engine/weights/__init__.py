"""The live weights of the drafter: what they are, and how others take their place."""
