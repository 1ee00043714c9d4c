"""The benchmarks of Orbitile: `orbitile bench`.

`systems` makes the molecules, `measurement` holds clocks and references, `orbitile_rows` and `peers` time programs,
`suite` runs it all, `report` and `plots` show what was found.
"""
