from itertools import islice

from kernelwright.search import space

SPACE = {"a": (1, 2, 3), "b": (False, True), "c": ("x", "y")}


def first(count, seed=0, **kwargs):
    return list(islice(space.walk(SPACE, seed, **kwargs), count))


def test_the_first_set_is_the_default_one():
    assert first(1, seed=3) == [{"a": 1, "b": False, "c": "x"}]


def test_a_walk_has_every_set_once():
    sets = first(100)
    assert len(sets) == len({tuple(entry.items()) for entry in sets}) == space.size(SPACE) == 12
    assert all(entry[name] in values for entry in sets for name, values in SPACE.items())


def test_the_seed_alone_decides_and_a_longer_walk_begins_like_a_shorter_one():
    assert first(6, seed=5) == first(12, seed=5)[:6]
    assert first(6, seed=5) != first(6, seed=6)


def test_a_centre_replaces_the_default_and_every_other_set_is_near_it():
    centre = {"a": 2, "b": True, "c": "y"}
    sets = first(8, centre=centre)
    assert sets[0] == centre
    near = [entry for entry in sets[1:] if sum(entry[name] != centre[name] for name in SPACE) == 1]
    assert len(near) == len(space.neighbours(SPACE, centre)) == 2 + 1 + 1


def test_a_parameter_that_the_centre_lacks_has_its_default():
    assert first(1, centre={"a": 3}) == [{"a": 3, "b": False, "c": "x"}]
