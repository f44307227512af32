"""The dashboard: pages, the API, metrics. ``web.app.create_app`` makes the application, ``yarntune web`` serves it."""
