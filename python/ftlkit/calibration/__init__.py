"""A drive's `[device]` table from what fio measured of it.

`jobs` writes the fio jobs, `fio` reads what they reported and `points` says what each is about.
`model` asks the simulator for the same figures of a device. `starts` has closed forms to begin
with, `fit` improves on them, `shapes` chooses channels and dies, and `certainty` says how sure each
value is. `calibration` puts all of it together.
"""

PRESET = "nvme-tlc-1t"
"""Where what cannot be told comes from, unless another preset is named."""
