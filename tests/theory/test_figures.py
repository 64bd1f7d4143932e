"""What the figures of the theory show is what was measured."""

import numpy as np
import pytest

from fenchel.report import plot_bias, plot_option_one, plot_rates
from fenchel.theory import (
    Bias,
    BiasPoint,
    Bound,
    Sampled,
    Steps,
    straddle,
    summarise_option_one,
    summarise_rates,
)

pytestmark = pytest.mark.slow

plt = pytest.importorskip("matplotlib.pyplot")
VALUES = {count: tuple((1 + k / 10) * count**-0.5 for k in range(8)) for count in (100, 1000, 10_000)}


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def lines(axes):
    return {line.get_label(): line for line in axes.lines}


def shown(figure):
    """All text, and that none of it runs out of the picture."""
    figure.canvas.draw()
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    for legend in filter(None, legends):
        box, whole = legend.get_window_extent(), figure.bbox
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    return " ".join(text.get_text() for legend in filter(None, legends) for text in legend.get_texts())


def test_rates_are_drawn_below_the_bound():
    found = summarise_rates(straddle(), VALUES)
    figure = plot_rates(found)
    (axes,) = figure.axes
    drawn = lines(axes)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    bound = drawn["bound corrected, proved constants"].get_ydata()
    assert np.allclose(bound, [point.proved.corrected for point in found.points])
    (bars,) = axes.containers
    assert np.allclose(bars[0].get_ydata(), [point.mean for point in found.points])
    assert np.all(bound > bars[0].get_ydata())
    assert "N^{-0.50}" in shown(figure)


def test_option_one_shows_median_mean_and_range():
    found = summarise_option_one(straddle(), VALUES, steps=Steps(offset=100.0))
    figure = plot_option_one(found, title="a title")
    (axes,) = figure.axes
    drawn = lines(axes)
    assert np.allclose(drawn["median"].get_ydata(), [point.median for point in found.points])
    assert np.allclose(drawn["mean"].get_ydata(), [point.mean for point in found.points])
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert np.isclose(band.min(), min(p.low for p in found.points))
    assert np.isclose(band.max(), max(p.high for p in found.points))
    assert axes.get_title() == "a title"
    assert "range of 8 seeds" in shown(figure)


def test_bias_shows_both_kinds_and_the_lemma():
    points = tuple(
        BiasPoint(step, 0.2 * step, 0.0, Sampled(0.2 * step + 1e-3, 1e-3, 1.0), Sampled(-1e-3, 1e-3, 1.0))
        for step in (0.1, 0.4)
    )
    found = Bias("straddle", 1.0, (0.0,), 1.0, 10_000, 0.2, Bound("eq:stocerrbd", 19.0, 20.0), 1.4, points)
    figure = plot_bias(found)
    left, right = figure.axes
    assert np.allclose(lines(left)["one episode, exact"].get_ydata(), [0, *(p.shared for p in found.points)])
    assert np.allclose(lines(left)["fresh batch, exact"].get_ydata(), 0, atol=1e-12)
    samples = [[bar[0].get_ydata() for bar in left.containers][k] for k in (0, 1)]
    assert np.allclose(samples[0], [p.sampled_shared.along for p in found.points])
    assert np.allclose(samples[1], [p.sampled_fresh.along for p in found.points])
    heights = [line.get_ydata()[0] for line in right.lines]
    assert np.allclose(heights[:3], 0.1 * np.array([found.lemma.corrected, found.lemma.printed, found.sharp]))
    assert heights[3] < min(heights[:3])
    assert "Lemma 2 as printed" in shown(figure)
