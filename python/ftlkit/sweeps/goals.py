"""Goals by which the points of a sweep are ranked."""

from collections.abc import Collection
from dataclasses import dataclass

from ftlkit._native import UserError
from ftlkit._util.lookup import hint

NO_RANKING = ("worn_out", "overloaded")
"""Cautions that exclude points from the ranking: other requests, or a growing queue."""


@dataclass(frozen=True)
class Goal:
    """A goal by which points are ranked."""

    metric: str
    """The column that decides."""
    words: str
    unranked: str = "overloaded, worn out or without requests"
    """The points left out, in words."""
    barring: tuple[str, ...] = NO_RANKING
    """Cautions that leave a point out."""
    is_most: bool = False
    """Whether the highest value is the best."""
    column: str = ""
    """The column by which it is written, if another one."""

    @property
    def ends(self) -> tuple[str, str]:
        """The best and the worst, in words."""
        return ("longest", "shortest") if self.is_most else ("lowest", "highest")


GOALS = {
    "mean": Goal("response_mean_ns", "mean response"),
    "p99": Goal("response_p99_ns", "99th percentile of responses"),
    "p99-read": Goal("read_p99_ns", "99th percentile of reads"),
    "p99-write": Goal("write_p99_ns", "99th percentile of writes"),
    "wa": Goal("write_amplification", "write amplification", "worn out or without writes", NO_RANKING[:1]),
    "life": Goal("life_bytes", "life", "without a forecast", (), is_most=True),
}
"""Goals of a sweep by their names."""

EVEN_LIFE = Goal(
    "even_life_bytes",
    "life under even wear (some have no forecast)",
    "in its first turn, without a life",
    (),
    is_most=True,
    column="life_bytes",
)
"""Stands for `life` where a point has no forecast."""

WITH_FLUSHES = Goal("response_with_flushes_ns", "mean response with flushes", column="response_mean_ns")
"""Stands for `mean` where flushes weigh."""

TIMELESS = ("wa", "life")
"""Those that need no clock."""


def check(goal: object, known: Collection[str] = GOALS.keys(), near: str = "") -> None:
    """Refuse what is none of the known goals; `near` is the one meant, if that is known."""
    if not isinstance(goal, str) or goal not in known:
        folded = str(goal).casefold()
        near = near or (folded if folded in known else "")
        meant = f" Did you mean {near}?" if near else hint(folded, known)
        raise UserError(f"--goal {goal}: there is no such goal.{meant} There are {', '.join(known)}.")
