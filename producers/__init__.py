"""Scores out: the sink, dead letters and delivery; and what callers use to produce and read."""
