"""`python -m ftlkit` is the `ftlkit` command."""

from ftlkit.cli import main

if __name__ == "__main__":
    main()
