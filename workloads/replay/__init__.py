"""Replays a case live: real applications on a real YARN, whose containers run workload blocks.

``driver`` builds and starts the one JVM that is the ApplicationMaster of all of them, ``live`` follows the replay,
measures it from the ResourceManager and leaves nothing behind, ``embedded`` starts a cluster with a case's nodes and
queues.
"""
