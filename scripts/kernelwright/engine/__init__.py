"""The driver around Snakemake: one lock, passes until every bucket has stopped, progress, a clean end."""
