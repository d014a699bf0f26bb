"""The grid on which bounds and nulls live."""

from typing import Final

CELLS: Final = 2000  # bounds are multiples of 1/CELLS, so 1 − bound is always a node of the certificate's grid
FLOOR: Final = CELLS // 2  # c > 1/2 is the model's assumption, and needs no evidence
