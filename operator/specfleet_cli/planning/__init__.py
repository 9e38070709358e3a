"""The command `plan`: what a manifest would change in a cluster."""
