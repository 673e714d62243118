"""The mathematics of the promise: how much noise, what it promises, and how promises add up. No data is seen here."""
