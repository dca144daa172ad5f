"""What every figure shares: text that can be read on its colour, panels in rows, domains in order."""

import numpy as np
import polars as pl
import pytest

from conquer.study.plots.canvas import domains_of, ink, new, panels


def contrast(one, two) -> float:
    """The ratio of two colours' luminances, from 1 to 21, as the web's guidelines for readable text define it."""
    linear = [np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) for c in map(np.asarray, (one, two))]
    light = sorted(0.05 + c @ [0.2126, 0.7152, 0.0722] for c in linear)
    return float(light[1] / light[0])


@pytest.mark.parametrize(("colours", "most"), [("PuOr_r", 1.0), ("Blues", 0.7)])
def test_numbers_can_be_read_on_every_colour(colours: str, most: float) -> None:
    """The better of black and white has at least sqrt(21) = 4.58; the cut is a little off."""
    picture = new(1, 1, 1.0)[1][0, 0].imshow([[0.0, most]], cmap=colours, vmin=0, vmax=most)
    for value in np.linspace(0.0, most, 101):
        colour = picture.cmap(picture.norm(value))[:3]
        assert contrast(colour, {"white": (1, 1, 1), "black": (0, 0, 0)}[ink(picture, value)]) > 4.4


@pytest.mark.parametrize(("count", "rows", "columns"), [(1, 1, 1), (2, 1, 2), (4, 2, 2), (10, 4, 3), (33, 11, 3)])
def test_panels_stand_in_rows(count: int, rows: int, columns: int) -> None:
    figure, axes = panels(count, 3, 1.0)
    assert len(axes) == count == sum(axis.get_visible() for axis in figure.axes)
    grid = axes[0].get_gridspec()
    assert (grid.nrows, grid.ncols) == (rows, columns)


def test_domains_are_in_order_whatever_their_case() -> None:
    assert domains_of(pl.DataFrame({"domain": ["music", "MP3", "arts", "music"]})) == ["arts", "MP3", "music"]
