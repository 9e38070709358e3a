"""The command `status`: what a fleet does, for people and for programs."""
