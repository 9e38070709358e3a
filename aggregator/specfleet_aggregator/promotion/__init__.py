"""How versions become stable: from the ledger and the evidence to the next decision. Pure."""
