"""Where a kernel's time goes: `child` measures in its own process, `summary` makes metrics and bottlenecks of that."""
