"""A scripted model server for tests of agent sessions."""
