"""Made-up data to try things on: deterministic from a seed, and nobody real is in it.

`people` is a register of a city's inhabitants, for tables; `city` and `draw_trips` are streets and taxis, for maps.
"""

from leastnoise.datasets.register import people, people_keys
from leastnoise.datasets.taxi_city import City, city, draw_trips, write_trips

__all__ = ["City", "city", "draw_trips", "people", "people_keys", "write_trips"]
