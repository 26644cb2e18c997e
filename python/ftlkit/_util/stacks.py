"""Stacks as text: `fast:log_space=0.01+lru:ram=1MiB`."""


def mapping(stack: str) -> str:
    """The name of a stack's mapping, or of a part with settings."""
    return stack.partition("+")[0].partition(":")[0]
