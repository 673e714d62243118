"""Statistics about people with a proved differential-privacy guarantee and the least possible error."""

__version__ = "0.1.0"
