"""Walls around code that is not trusted: namespaces, resource limits, stopping, reading and killing processes."""
