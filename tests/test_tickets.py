"""Tickets: splitmix's numbers, the normal quantile, streams from content."""

from itertools import pairwise

import numpy as np
import pytest
from literal import normal, uniform
from scipy.special import ndtri
from scipy.stats import kstest

from conquer import tickets as plain
from conquer.kernels.core import tickets


def test_draws_equal_their_definition():
    counters = np.array([0, 1, 2, 77, 2**63, 2**64 - 1], np.uint64)
    for ticket in (0, 1, 2**63, 2**64 - 1, 123456789):
        uniforms, normals = np.empty(6), np.empty(6)
        tickets.ticket_uniforms(np.uint64(ticket), counters, uniforms)
        tickets.ticket_normals(np.uint64(ticket), counters, normals)
        np.testing.assert_array_equal(uniforms, [uniform(ticket, int(c)) for c in counters])
        np.testing.assert_array_equal(uniforms, [plain.uniform(ticket, int(c)) for c in counters])
        assert plain.ticket(ticket, 77) == int(plain.tickets(ticket, 77, 1)[0])
        np.testing.assert_allclose(normals, [normal(ticket, int(c)) for c in counters], rtol=1e-13, atol=1e-13)


def test_the_quantile_is_the_normal_distributions():
    p = np.concatenate([np.linspace(1e-12, 1 - 1e-12, 2001), np.logspace(-300, -1, 300)])
    ours = np.array([tickets.quantile(x) for x in p])
    np.testing.assert_allclose(ours, ndtri(p), rtol=2e-14, atol=1e-15)


def test_draws_look_uniform_and_normal():
    counters = np.arange(20_000, dtype=np.uint64)
    uniforms, normals = np.empty(20_000), np.empty(20_000)
    tickets.ticket_uniforms(np.uint64(5), counters, uniforms)
    tickets.ticket_normals(np.uint64(6), counters, normals)
    assert kstest(uniforms, "uniform").pvalue > 1e-3
    assert kstest(normals, "norm").pvalue > 1e-3


def test_streams_depend_on_content_alone():
    assert plain.stream("policy", 0) == 14193444263938817618
    first = plain.tickets(plain.stream("a", 1), 0, 100)
    assert len(set(first.tolist())) == 100
    np.testing.assert_array_equal(first[40:], plain.tickets(plain.stream("a", 1), 40, 60))
    assert plain.ticket(plain.stream("a", 1), 7) == first[7]


def test_no_two_uses_of_a_ticket_share_a_draw():
    ranges = sorted(plain.COUNTERS.values(), key=lambda one: one.start)
    assert ranges[0].start == 0
    assert ranges[-1].stop == 2**64
    assert all(one.start < one.stop == two.start for one, two in pairwise(ranges))
    first = {"feature": 0, "explore": plain.EXPLORE, "reward": plain.REWARD}
    for use, number in first.items():
        expected = uniform(12345, plain.COUNTERS[use].start)
        assert plain.Draws(12345).uniform(number) == expected
    assert plain.COUNTERS["order"].start == int(tickets.ORDER)
    assert plain.COUNTERS["side"] == range(int(tickets.SIDE), int(tickets.SIDE) + 1)


def test_streams_and_draws_are_fixed_numbers():
    """A ledger holds tickets and a session file its seed, so the draws they give are part of the format."""
    assert (plain.stream("policy", 0), plain.stream("a", "b")) == (14193444263938817618, 13076880580872793251)
    assert (plain.ticket(3, 5), plain.word(7, 3), plain.uniform(7, 2)) == (
        11365435092833074734,
        17358316652931856208,
        0.30213903321684277,
    )
    assert [use.start for use in plain.COUNTERS.values()] == [0, 1, 2, 2**62 + 2, 2**63, 2**63 + 1, 2**63 + 2**62]


def test_only_numbers_in_range_and_generators_are_tickets():
    for bad in (True, -1, 2**64, 1.0, "7", None):
        with pytest.raises(TypeError, match="rng must be a numpy Generator or a ticket"):
            plain.draw_ticket(bad)
    for bits in (np.random.PCG64, np.random.MT19937, np.random.Philox):
        expected = int(np.random.Generator(bits(5)).integers(0, 2**64, dtype=np.uint64))
        assert plain.draw_ticket(np.random.Generator(bits(5))) == expected
