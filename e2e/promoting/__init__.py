"""A fleet that judges candidates under traffic: one that is better, and two that must not pass."""
