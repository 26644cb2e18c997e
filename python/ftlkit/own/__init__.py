"""FTLs of your own, written in Python; docs/write-your-own.md shows how."""
