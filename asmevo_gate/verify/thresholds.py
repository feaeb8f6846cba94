"""What measurements on hardware must show. By itself, because the settings hold it and every run reads them."""

from __future__ import annotations

from typing import NamedTuple


class Thresholds(NamedTuple):
    """Relative changes in percent of the base's figure."""

    valu_utilisation_up: float = 5.0
    lds_utilisation_within: float = 2.0
    busy_up: float = 3.0
