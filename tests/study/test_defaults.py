"""The comparison behind the library's defaults runs every combination on the same rounds."""

from study.studies import tiny

from conquer.study.defaults import SHARES, compare


def test_every_combination_has_an_error() -> None:
    table = compare(tiny(domains=("android",), repetitions=1, minimum=50), items=3)
    assert table.height == 3 * 3 * 3 + 3 * (1 + len(SHARES))
    learners = table.filter(~table["algorithm"].str.starts_with("full-information"))
    assert learners.drop("tuned").null_count().sum_horizontal()[0] == 0
    assert table["tuned"].drop_nulls().len() == 3 * (1 + len(SHARES))
