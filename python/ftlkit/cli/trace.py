"""`ftlkit trace info | convert | generate`."""

import typer

app = typer.Typer(help="Look into traces, convert and generate them.", no_args_is_help=True)
