"""Grafana's dashboard of Pelton, written by `make docs` and held against the table of metrics by a test."""
