"""The ResourceManager, over its REST API."""
