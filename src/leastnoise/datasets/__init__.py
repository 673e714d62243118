"""Made-up data to try things on: deterministic from a seed, and nobody real is in it.

`people` is a register of a city's inhabitants and `visits` what they do in a year, for tables; `city` and `draw_trips`
are streets and taxis, for maps. `write_files` writes people and visits as CSV files, with their keys.
"""

from leastnoise._support.calls import explain_public
from leastnoise.datasets.register import people, people_keys, visit_keys, visits, write_files
from leastnoise.datasets.taxi_city import City, city, draw_trips, write_trips

__all__ = [
    "City",
    "city",
    "draw_trips",
    "people",
    "people_keys",
    "visit_keys",
    "visits",
    "write_files",
    "write_trips",
]


explain_public(globals(), __all__)
