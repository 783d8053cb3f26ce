"""Errors that end a command with one clear line instead of a traceback."""


class KernelwrightError(Exception):
    """Base of every expected failure; its text is the one line a user reads. Exit code 1."""

    exit_code = 1


class InputError(KernelwrightError):
    """Bad input: names the file, the field, the value and what is allowed. Exit code 2."""

    exit_code = 2


class UnknownFact(KernelwrightError):
    """A fact that was asked for is not known and must not be guessed. Exit code 2."""

    exit_code = 2
