"""Dashboard, REST API and metrics."""
