"""Is not Python."""

class Model(:
