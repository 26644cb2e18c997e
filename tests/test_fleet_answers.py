"""The answers of fleets over made-up costs: choices, held-out volumes, kinds."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from ftlkit._util import Json
from ftlkit.fleets.answers import Answers
from ftlkit.fleets.choice import FOLDS
from ftlkit.fleets.kinds import kinds
from ftlkit.fleets.run import EVEN_LIFE, FIGURES, Points, Volume
from ftlkit.sweeps.goals import GOALS


def answers(
    costs: Mapping[str, Sequence[float | None]],
    goal: str = "wa",
    traits: Sequence[Json] = (),
    seeds: int = 1,
    **ram: int,
) -> Answers:
    """Answers over made-up costs of stacks on volumes `0`, `1`, and so on, each with all seeds."""
    count = len(next(iter(costs.values()))) // seeds
    fleet = [Volume(str(number), {}, 10, 1.0, 4096, traits[number] if traits else {}) for number in range(count)]
    blank: Json = dict.fromkeys([*FIGURES, EVEN_LIFE, "error"])
    blank |= {"key": "", "state": "done", "cautions": {}, "spare": 0.07}
    blank |= {"device": "small", "capacity_bytes": 1 << 20, "preparation": "fill", "most_requests": None}
    rows = [
        blank
        | {"volume": str(number // seeds), "stack": stack, "seed": number % seeds}
        | {"ram_bytes": ram.get(stack, 1), GOALS[goal].metric: cost}
        for stack, mine in costs.items()
        for number, cost in enumerate(mine)
    ]
    return Answers(fleet, Points(rows, len(rows), 0, seeds), GOALS[goal])


def test_the_one_stack_has_the_least_mean_tail_or_worst_with_its_regret() -> None:
    steady, peaky, poor = [2.0] * 100, [1.0] * 94 + [9.0] * 6, [3.0] * 100
    found = answers({"steady": steady, "peaky": peaky, "poor": poor})
    mean, tail, worst = found.choices
    assert mean.stack == "peaky"
    assert [mean.value, mean.own] == pytest.approx([1.48, 1.06])
    assert mean.regret == pytest.approx(1.48 / 1.06 - 1)
    assert (mean.median, mean.worst, mean.worst_volume) == (0.0, 3.5, "94")
    assert mean.high == np.quantile([0.0] * 94 + [3.5] * 6, 0.95)
    assert (tail.stack, tail.value, worst.stack, worst.value, worst.own) == ("steady", 2.0, "steady", 2.0, 2.0)
    assert found.best == {str(number): "peaky" if number < 94 else "steady" for number in range(100)}
    table = found.table()
    assert table["regret"].to_list() == [0.0] * 94 + [3.5] * 6
    quantiles = {stack: values for metric, stack, _, values in found.quantiles() if metric.heading == "write amp."}
    assert quantiles["peaky"][2:-1] == [1.0, 1.0, np.quantile(peaky, 0.95), 9.0]


def test_a_life_is_the_better_the_longer_and_ties_go_to_less_ram() -> None:
    lives = answers({"short": [10.0, 10.0], "long": [40.0, 8.0]}, "life")
    assert [choice.stack for choice in lives.choices] == ["long", "short", "short"]
    assert lives.choices[0].value == pytest.approx(2 / (1 / 40 + 1 / 8))
    assert lives.choices[2].value == pytest.approx(10.0)
    tied = answers({"big": [1.0, 1.0], "small": [1.0005, 1.0]}, big=1000, small=10)
    assert set(tied.best.values()) == {"small"}
    assert tied.choices[0].name == "small (tie, least RAM)"
    assert tied.sentences[0].startswith("Of one stack for all 2 volumes, small (tie, least RAM) has the lowest")
    assert answers({"first": [1.0, 1.0], "second": [1.0, 1.0]}).choices[0].name == "first (tie, named first)"
    assert answers({"good": [1.0, 1.0], "bad": [1.0, 1.1]}).choices[0].name == "good"


def test_write_amplification_without_an_erase_is_said_first_and_not_ranked() -> None:
    def erased(*erases: int, goal: str = "wa") -> Answers:
        found = answers({"page": [1.0] * 4, "dftl": [1.1] * 4}, goal, page=2048, dftl=1024)
        for row, count in zip(found.points.rows, erases * 2, strict=True):
            row |= {"erases": count, "write_amplification": 1.0, "cautions": {} if count else {"nothing_erased": {}}}
        return found

    new = erased(0, 0, 0, 0)
    assert (new.best, new.choices, new.cautions) == ({}, [], [])
    first, ram = new.sentences
    assert first.startswith("No block was erased: write amplification counts only rounding to pages and map writes")
    assert "--precondition steady" in first
    assert "--capacity" in first
    assert ram == "Least RAM on the median volume: dftl, 1\N{NO-BREAK SPACE}KiB; most: page, 2\N{NO-BREAK SPACE}KiB."
    half, most = (erased(0, 0, 7, 7), erased(0, 7, 7, 7))
    assert half.sentences[0].startswith("The least write amplification is without an erase on 2 of 4 volumes")
    assert most.sentences[0].startswith("Of one stack for all 4 volumes")
    assert half.choices
    assert half.cautions
    assert erased(0, 0, 0, 0, goal="p99").choices, "times differ without an erase"


def test_figures_of_some_volumes_say_how_many_and_winners_what_they_miss() -> None:
    found = answers({"page": [2.0, 2.0, 2.0], "part": [1.0, 1.0, None]})
    counts = {(metric.heading, stack): count for metric, stack, count, _ in found.quantiles()}
    assert (counts["write amp.", "page"], counts["write amp.", "part"]) == ("3", "2 of 3")
    assert found.sentences[1] == "No candidates for all: part (not ranked on 1)."
    assert "part on 2 (not ranked on 1), page on 1." in found.sentences[2]
    assert (
        answers({"all": [2.0, None]}).sentences[0].startswith("Of one stack for all 1 volume that can be ranked (of 2)")
    )


def test_regret_names_the_worst_volume_or_says_that_there_is_none() -> None:
    assert answers({"a": [1.0, 2.0], "b": [2.0, 3.0]}).sentences[0].endswith("1.50. No volume has a better stack.")
    some = answers({"a": [1.0, 2.0, 2.0], "b": [2.0, 2.0, 1.0]})
    assert "the regret is 25.0 %, and 100.0 % on the worst volume, 2." in some.sentences[0]


def test_a_stack_that_misses_a_volume_is_not_the_one() -> None:
    found = answers({"best": [1.0, None, 1.0], "all": [2.0, 2.0, None]})
    assert found.choices == []
    assert "No stack is ranked on all 3 volumes; best is on 2" in found.sentences[0]
    found = answers({"best": [1.0, None, None], "all": [2.0, 2.0, None]})
    assert [choice.stack for choice in found.choices] == ["all"] * 3
    assert found.cautions == ["volume 2 cannot be ranked: worn out or without writes, or failed."]


def test_advice_that_helps_beats_the_default_by_its_margin_on_held_out_volumes() -> None:
    draws = np.random.default_rng(2)
    default = draws.uniform(2, 4, 200)
    found = answers({"page": [*default], "good": [*(default * 0.8)], "bad": [*(default * 1.5)]})
    mean, tail = found.held
    assert (mean.advice, mean.baseline, mean.aim, tail.aim) == ("good", "page", "mean", "95th percentile")
    assert [mean.margin.share, mean.margin.low, mean.margin.high] == pytest.approx([0.2] * 3)
    assert (mean.agreeing, mean.margin.is_better) == (FOLDS, True)
    assert "good beats page: the mean of write amplification is 20.0 % lower (95 % interval" in found.sentences[2]
    longer = answers({"page": [*(1 / default)], "good": [*(1.25 / default)]}, "life").sentences[2]
    assert "good beats page: the mean of life is 25.0 % longer" in longer
    none = answers({"page": [*default], "bad": [*(default * 1.5)]}).sentences[2]
    assert none == "By the mean, no stack is better than page, the default."


def test_advice_that_is_luck_does_not_beat_the_default() -> None:
    draws = np.random.default_rng(6)
    noise = {f"s{place}": [*draws.lognormal(1, 0.5, 60)] for place in range(60)}
    found = answers({"page": [*draws.lognormal(1, 0.5, 60)]} | noise)
    choice, held = found.choices[0], found.held[0]
    page = float(np.mean(found.values("write_amplification", "page")))
    # Of 60 equal stacks the luckiest seems better by far, and other volumes do not confirm it.
    assert choice.value < 0.9 * page
    assert held.margin.share < (1 - choice.value / page) / 2
    assert not held.margin.is_better
    assert "does not beat page" in found.sentences[2]


def test_the_interval_of_a_margin_holds_the_truth_as_often_as_it_says() -> None:
    held = 0
    for number in range(60):
        draws = np.random.default_rng(number)
        default = draws.lognormal(1, 0.5, 80)
        margin = answers({"page": [*default], "good": [*(default * draws.uniform(0.6, 1, 80))]}).held[0].margin
        held += margin.low <= 0.2 <= margin.high
    # Of 60, 57 are expected; fewer than 51 are by chance once in 100.
    assert held >= 51


def test_nothing_is_held_out_of_few_volumes_or_without_the_default() -> None:
    few = answers({"page": [2.0] * 9, "good": [1.0] * 9})
    assert few.held == []
    assert few.sentences[2].startswith("What that is worth on held-out volumes is not known: it takes 10")
    assert answers({"dftl": [2.0] * 20, "good": [1.0] * 20}).held == []
    for key, spare in (("spare", 0.1), ("spare", 0.07), ("op", 0.0753 / 1.0753)):
        default = f"page, device.{key} 0.07"
        found = answers({default: [2.0] * 20, "page:victim=cat": [1.0] * 20})
        for row in found.points.rows:
            row["spare"] = spare
        is_there = abs(spare - 0.07) < 0.01
        assert (found.default, len(found.held)) == ((default, 2) if is_there else (None, 0))
        assert is_there != any("is compared with no default: page at 7.00" in said for said in found.sentences)


def clusters(*sizes: int, spread: float = 0.1) -> list[Json]:
    """Features of volumes in groups far from each other."""
    draws = np.random.default_rng(1)
    return [
        {
            "sequential": 0.2 + 0.1 * place + spread * draws.normal() * 0.1,
            "write size": 4096 * 4**place * draws.uniform(1, 1.1),
        }
        for place, size in enumerate(sizes)
        for _ in range(size)
    ]


def test_kinds_are_found_where_there_are_some() -> None:
    found = kinds(clusters(10, 30, 20))
    assert [*found.labels] == [2] * 10 + [0] * 30 + [1] * 20, "the kind with most volumes is first"
    assert found.silhouette > 0.7
    draws = np.random.default_rng(5)
    cloud = kinds(
        [{"a": draws.normal(), "b": draws.normal(), "c": draws.normal(), "d": draws.normal()} for _ in range(300)]
    )
    assert cloud.count == 1
    assert kinds([{"a": 1.0, "b": None}] * 30).count == 1
    sizes = [{"requests": size * (1 + number / 60)} for number in range(30) for size in (10, 1_000, 100_000)]
    assert kinds(sizes).count == 3, "orders of magnitude are as far from each other"
    assert kinds([{"a": None, "write size": 0.0}, {"a": 1.0, "write size": 4.0}] * 30).count >= 1


def test_a_stack_for_each_kind_is_judged_against_the_one_stack() -> None:
    few, many = 30, 60
    costs = {"left": [1.0] * many + [4.0] * few, "right": [3.0] * many + [1.0] * few}
    found = answers(costs, traits=clusters(many, few))
    assert [(kind.volumes, kind.stack, kind.value) for kind in found.kinds] == [
        (many, "left", 1.0),
        (few, "right", 1.0),
    ]
    assert found.kinds[1].one == 4.0
    assert found.kinds[1].medians["write size"] > 4 * 4096  # type: ignore[operator] # every volume has one
    (held,) = found.held
    assert (held.advice, held.baseline) == ("a stack per kind", "the one stack")
    assert held.margin.share == pytest.approx(0.5)
    assert any("a stack per kind beats the one stack" in sentence for sentence in found.sentences)
    alike = answers({"left": [1.0] * 90, "right": [3.0] * 90}, traits=clusters(many, few))
    assert alike.held == []
    assert alike.sentences[-1].endswith("shown by medians over their volumes; left is the stack of each.")
    (level,) = answers({"page": [1.0] * 20, "small": [1.0] * 20}, page=9).sentences[2:3]
    assert level == "On held-out volumes small and page are level in mean write amplification."


def test_kinds_that_differ_in_features_alone_do_not_beat_the_one_stack() -> None:
    draws = np.random.default_rng(5)
    costs = {name: [*draws.lognormal(1, 0.3, 90)] for name in ("a", "b", "c", "d")}
    found = answers(costs, traits=clusters(45, 45))
    assert len(found.kinds) == 2
    assert len({kind.stack for kind in found.kinds}) > 1
    assert not found.held[0].margin.is_better
    assert not any("kind beats" in sentence for sentence in found.sentences)


def test_volumes_weigh_by_their_bytes_in_the_total_alone() -> None:
    found = answers({"page": [1.0, 4.0, None]}, page=7)
    for row, written in zip(found.points.rows, (9_000, 1_000, 0), strict=True):
        row |= {"host_written_bytes": written, "media_written_bytes": written * (row["write_amplification"] or 0)}
    totals = {metric.name: values[-1] for metric, _, _, values in found.quantiles()}
    assert totals == {"write_amplification": pytest.approx((9_000 + 4_000) / 10_000), "ram_bytes": 21}


def test_the_head_tells_devices_preparation_and_cut_traces() -> None:
    found = answers({"page": [1.0, 4.0, 2.0]})
    first, *others = found.points.rows
    first |= {"capacity_bytes": 2 << 20, "requests": 3, "preparation": "none", "most_requests": 3}
    for row in others:
        row |= {"requests": 8, "most_requests": 10}
    assert [said.replace("\N{NO-BREAK SPACE}", " ") for said in found.head] == [
        "Device small, 1 MiB to 2 MiB for the host (by volume), spare 7.00 % (OP 7.53 %).",
        "Preconditioning, by volumes: none (1 of 3), fill (2 of 3).",
        "Of 1 of 3 volumes the first 3 requests were run.",
    ]
    assert found.table()["requests_run"].to_list() == [3, 8, 8]


def test_seeds_are_means_and_give_an_interval() -> None:
    found = answers({"a": [1.0, 3.0, 2.0, 4.0], "b": [5.0, 5.0, 5.0, None]}, seeds=2)
    mean = found.choices[0]
    # By seed, the means over volumes are 1.5 and 3.5: an interval of 12.7 standard errors of 1.
    assert (mean.stack, mean.value) == ("a", 2.5)
    assert mean.half_width == pytest.approx(12.706, abs=0.01)
    assert found.values("write_amplification", "a") == [2.0, 3.0]
    assert found.values("write_amplification", "b") == [5.0], "a seed without a value leaves the volume out"
    assert found.table()["write_amplification a"].to_list() == [2.0, 3.0]
    found.points.rows[0]["state"] = "lost"
    lost = Answers(found.fleet, found.points, found.goal)
    assert lost.best == {"0": "b", "1": "a"}, "a point that lacks a seed is not ranked"
    lives = answers({"a": [1.0, 3.0]}, "life", seeds=2)
    assert lives.values("life_bytes", "a") == [1.5]
    assert answers({"a": [1.0, 2.0]}).choices[0].half_width is None


def test_cautions_about_volumes_are_counted_once_per_kind() -> None:
    found = answers({"page": [1.0] * 6, "dftl": [2.0] * 6})
    for place, row in enumerate(found.points.rows):
        row["cautions"] = {"nothing_erased": {}}
        if row["stack"] == "dftl" and place % 2:
            row["cautions"] |= {"untouched": {}, "drifting": {"enough": 1_000 * place}}
    untouched, drifting, erased = found.cautions
    assert untouched.startswith("3 volumes (1, 3, 5) under dftl: The requests replayed leave more than a twentieth")
    assert drifting.startswith("3 volumes (1, 3, 5) under dftl: Write amplification was still changing")
    assert "about 11,000 requests" in drifting, "of the volume that needs most"
    assert erased.startswith("All 6 volumes: No block was erased")
