from kernelwright.search import space

SPACE = {"a": (1, 2, 3), "b": (False, True), "c": ("x", "y")}


def test_the_first_set_is_the_default_one():
    assert space.sample(SPACE, 5, seed=3)[0] == {"a": 1, "b": False, "c": "x"}


def test_sets_are_distinct_and_from_the_space():
    sets = space.sample(SPACE, 8, seed=1)
    assert len(sets) == 8
    assert len({tuple(entry.items()) for entry in sets}) == 8
    assert all(entry[name] in values for entry in sets for name, values in SPACE.items())


def test_a_small_space_is_exhausted_without_repeats():
    assert len(space.sample(SPACE, 100, seed=1)) == space.size(SPACE) == 12


def test_the_seed_alone_decides():
    assert space.sample(SPACE, 6, seed=5) == space.sample(SPACE, 6, seed=5)
    assert space.sample(SPACE, 6, seed=5) != space.sample(SPACE, 6, seed=6)


def test_a_centre_replaces_the_default_and_its_neighbours_differ_in_one_value():
    centre = {"a": 2, "b": True, "c": "y"}
    first, *rest = space.sample(SPACE, 4, seed=0, centre=centre)
    assert first == centre
    assert all(sum(entry[name] != centre[name] for name in SPACE) == 1 for entry in rest[:2])
    assert len(space.neighbours(SPACE, centre)) == 2 + 1 + 1
