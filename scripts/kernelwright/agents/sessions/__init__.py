"""What the agents that drive a coding CLI or a model share: one runner, one record, one episode."""
