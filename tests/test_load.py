"""The stretches of a series, as cautions compare them."""

from ftlkit.report.load import fifths, written_between


def test_stretches_that_hardly_write_hardly_count() -> None:
    # Two samples a fifth. In the last, one copies much for the few bytes that the host wrote.
    samples = [1.0] * 9 + [11.0]
    weights = [100.0] * 9 + [1.0]
    assert fifths(samples)[-1] == 6.0
    assert fifths(samples, weights)[:4] == [1.0] * 4
    assert 1.09 < fifths(samples, weights)[-1] < 1.1


def test_a_series_that_is_too_short_or_has_no_weight_is_not_divided() -> None:
    assert fifths([1.0] * 9) == []
    assert fifths([1.0] * 10, [0.0] * 10) == []
    assert fifths([None] * 3 + [2.0] * 10) == [2.0] * 5


def test_what_was_written_in_a_stretch_is_what_was_written_up_to_its_end_less_what_was_before() -> None:
    assert written_between([4.0, 4.0, 9.0]) == [4.0, 0.0, 5.0]
