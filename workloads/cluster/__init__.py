"""The embedded cluster: Hadoop's own ResourceManager and NodeManagers on loopback."""
