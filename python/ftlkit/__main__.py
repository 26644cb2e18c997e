"""`python -m ftlkit` is the `ftlkit` command."""

from ftlkit.entry import main

if __name__ == "__main__":
    main()
