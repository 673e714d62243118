"""The only code that sees people's rows, secret randomness or the ledger's pen."""
