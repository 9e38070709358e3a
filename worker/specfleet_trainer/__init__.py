"""The trainer: learns a draft head on the CPU from what an engine has served."""
