"""The arithmetic of DiLoCo: deltas are combined, and the outer optimiser takes one step."""
