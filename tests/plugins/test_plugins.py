"""Somebody's own package is found by name, lazily; when it is broken, it is named and ours go on."""

import pytest

from conquer import plugins


def test_names_of_ours_look_for_no_package(run):
    code = """
import sys, conquer
conquer.make("gnc", dim=3); conquer.make("rucb", dim=3)
print("conquer.plugins" in sys.modules, [m for m in sys.modules if m.startswith("conquer_plugin")])
"""
    without = (
        'import sys, conquer; conquer.make("gnc", dim=3); print(sum(m.startswith("conquer") for m in sys.modules))'
    )
    counts = {run("-c", without, CONQUER_PLUGINS=switch).stdout for switch in ("", "off")}
    assert len(counts) == 1
    assert run("-c", code).stdout == "False []\n"
    from conquer import registry

    plugins._offered.cache_clear()
    registry.make("gnc", dim=3)
    registry.make("rucb", dim=3)
    assert plugins._offered.cache_info().misses == 0


def test_only_the_module_that_is_asked_for_is_imported(run):
    code = """
import sys, conquer
conquer.make("widest", dim=3)
print(sorted(m for m in sys.modules if m.startswith("conquer_plugin")))
"""
    assert run("-c", code).stdout == "['conquer_plugin_example', 'conquer_plugin_example.widest']\n"


def test_it_can_be_switched_off(run):
    done = run("-c", 'import conquer; conquer.make("widest", dim=3)', check=False, CONQUER_PLUGINS="off")
    assert "unknown algorithm" in done.stderr


def test_a_package_that_cannot_be_imported_is_named_and_ours_go_on(run, offering, tmp_path):
    offering(tmp_path / "beside", "sorry", "algorithms", "sad", "sorry:ROW", "import nothing_like_it")
    code = """
import warnings, conquer
print(conquer.make("gnc", dim=3).name)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    names = [row.name for row in conquer.algorithms()]
print("widest" in names, "sad" in names, told[0].message)
try:
    conquer.make("sad", dim=3)
except ValueError as error:
    print(type(error).__name__, error)
"""
    first, second, third = run("-c", code, beside=tmp_path / "beside").stdout.splitlines()
    assert first == "gnc"
    assert second.startswith("True False 'sad' of the package sorry cannot be imported")
    assert third.startswith("PluginError 'sad' of the package sorry cannot be imported: ModuleNotFoundError")


def test_a_package_that_ends_the_process_is_named_and_ours_go_on(run, offering, tmp_path):
    offering(tmp_path / "beside", "script", "algorithms", "sad", "script:ROW", "import sys; sys.exit(7)")
    done = run("-m", "conquer", "algorithms", beside=tmp_path / "beside")
    assert "gnc" in done.stdout
    assert "'sad' of the package script cannot be imported: SystemExit: 7" in done.stderr
    done = run("-m", "conquer", "check-algorithm", "sad", beside=tmp_path / "beside", check=False)
    assert done.returncode == 2
    assert done.stderr == "conquer: 'sad' of the package script cannot be imported: SystemExit: 7\n"


ALGORITHM = "from conquer.extending import Algorithm\nROW = Algorithm('odd', 'y', lambda *given: None, {}, ({{}},){})"


@pytest.mark.parametrize(
    ("group", "code", "use", "told"),
    [
        (
            "algorithms",
            ALGORITHM.format("()", ", models=()"),
            'from conquer.conformance import check_algorithm; list(check_algorithm("odd"))',
            "models must be a tuple of one name or more, got ()",
        ),
        (
            "algorithms",
            ALGORITHM.format("()", ", models=('full')"),
            'conquer.make("odd", dim=3)',
            "models must be a tuple of one name or more, got 'full'",
        ),
        (
            "algorithms",
            ALGORITHM.format("('step',)", ""),
            'conquer.make("odd", dim=3)',
            "parameters must be a tuple of conquer.extending.Parameter, got ('step',)",
        ),
        (
            "algorithms",
            ALGORITHM.format("()", ""),
            'conquer.make("odd", dim=3)',
            "cannot be built: AttributeError: 'NoneType' object has no attribute 'name'",
        ),
        ("algorithms", "ROW = 7", 'conquer.make("odd", dim=3)', "must be a conquer.extending.Algorithm, got 7"),
        (
            "algorithms",
            "from conquer.extending import GREEDY, Policy, rule\nROW = rule('x', 'y', Policy(GREEDY, GREEDY))",
            'conquer.make("odd", dim=3)',
            "its Algorithm has the name 'x'",
        ),
        (
            "algorithms",
            "from conquer.extending import rival\nROW = rival('odd', 'y', lambda *given: 1 / len({}[0]))",
            'conquer.make("odd", dim=3)',
            "cannot be built: KeyError: 0",
        ),
        (
            "judges",
            "ROW = 7",
            'from conquer.judges import make_judge; make_judge("odd")',
            "must be a function of choice",
        ),
        ("encoders", "ROW = 7", 'conquer.Featurizer(dim=3, encoder="odd")', "must be a function of a list"),
        (
            "encoders",
            "def ROW(items): return [[1.0]]",
            'conquer.Featurizer(dim=3, encoder="odd")(["a", "b"])',
            "must return 2 finite vectors of one length, got shape (1, 1)",
        ),
        (
            "encoders",
            "def ROW(items): raise OSError('no model here')",
            'conquer.Featurizer(dim=3, encoder="odd")(["a", "b"])',
            "cannot make vectors: OSError: no model here",
        ),
        (
            "readers",
            "def ROW(path): return [7]",
            'open("a.odd", "w").close(); from conquer.data.reviews import read; list(read("a.odd"))',
            "cannot read a.odd: TypeError: a row must be a mapping",
        ),
    ],
    ids=[
        "no-models",
        "one-word",
        "no-parameters",
        "no-learner",
        "no-row",
        "other-name",
        "no-build",
        "no-judge",
        "no-featurizer",
        "few-vectors",
        "no-vectors",
        "no-rows",
    ],
)
def test_a_package_that_offers_something_else_is_told_so(run, offering, tmp_path, group, code, use, told):
    offering(tmp_path / "beside", "strange", group, "odd", "strange:ROW", code)
    done = run("-c", f"import conquer; {use}", beside=tmp_path / "beside", check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("conquer.plugins.PluginError: 'odd' of the package strange: ")
    assert told in last


def test_its_learners_are_sent_to_other_processes_with_their_row(run):
    code = """
import copy, pickle, conquer
for name, given in (("widest", {"lam": 0.5}), ("winner-stays", {"step": 0.2}), ("widest", {"believe": "voters"})):
    learner = conquer.make(name, dim=3, **given)
    for other in (pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)):
        assert (repr(other), other.parameters) == (repr(learner), learner.parameters), name
print("sent")
"""
    assert run("-c", code).stdout == "sent\n"


def test_two_packages_with_one_name_are_both_named(run, offering, tmp_path):
    for package in ("one", "two"):
        offering(tmp_path / "beside", package, "algorithms", "twice", f"{package}:ROW")
    done = run("-c", 'import conquer; conquer.make("twice", dim=3)', beside=tmp_path / "beside", check=False)
    assert "'twice' is offered by several packages, one, two" in done.stderr


def test_our_names_win(run, offering, tmp_path):
    offering(tmp_path / "beside", "thief", "algorithms", "gnc", "thief:ROW", "raise RuntimeError('imported')")
    code = 'import conquer; conquer.make("gnc", dim=3); print([a.name for a in conquer.algorithms()].count("gnc"))'
    assert run("-c", code, beside=tmp_path / "beside").stdout == "1\n"


def test_groups_have_names():
    with pytest.raises(ValueError, match="group must be one of algorithms, judges, encoders, readers, got 'rules'"):
        plugins.names("rules")
