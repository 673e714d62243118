"""The only code that sees people's rows, secret randomness or writes to the ledger."""
