"""The comparison behind the library's defaults runs every combination on the same rounds."""

from study.studies import tiny

from conquer.study.reviews.defaults import compare
from conquer.study.reviews.spec import CEILING


def test_every_combination_has_an_error() -> None:
    table = compare(tiny(domains=("android",), repetitions=1, minimum=50), items=3)
    assert table.height == 4 * 3 * 3 + 4
    learners = table.filter(table["algorithm"] != CEILING)
    assert learners.drop("tuned").null_count().sum_horizontal()[0] == 0
    assert table["tuned"].drop_nulls().len() == 4
