"""Where a kernel's time goes. `child` measures in a process of its own, `summary` turns that into metrics and bottlenecks."""
