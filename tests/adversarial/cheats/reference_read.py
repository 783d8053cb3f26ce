"""Runs the reference from its file."""

names = {}
exec(compile(open("{{OPERATOR}}/reference.py").read(), "reference", "exec"), names)
Model = names["Model"]
