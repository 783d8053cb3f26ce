"""The judge: compile, correctness, timing, policy, verdict. It holds the inputs, the clock and the decision.

Processes: the service (trusted, runs no candidate and no operator code), a zygote that has imported torch and forks the
others, an oracle per operator that runs the reference, and one child per kernel that is timed. See README.md here.
"""
