"""A real Prometheus scrapes a running worker, and every query of the dashboard and the alerts has to work on that."""
