"""What the `search` agent searches: template parameter spaces, Inductor lowerings, successive halving."""
