"""How long an LDS access keeps the banks busy when its addresses are known."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.cost.fingerprint import Fingerprint


def bank_clk(addresses: Iterable[int], fingerprint: Fingerprint) -> float:
    """Clk for which one 32-bit LDS access of a wave keeps the banks.

    ``addresses`` are the byte addresses of the active lanes. Lanes that ask for the same dword share it; each further
    dword on the busiest bank takes more time, up to the most that the target's manual states.
    """
    lds = fingerprint.lds
    width = int(lds["bank_width"].number)
    dwords = {address // width for address in addresses}
    if not dwords:
        return 0.0
    lanes_on_bank: dict[int, int] = {}
    for dword in dwords:
        bank = dword % int(lds["banks"].number)
        lanes_on_bank[bank] = lanes_on_bank.get(bank, 0) + 1
    worst = max(lanes_on_bank.values())
    clk = lds["first_lane_clk"].number + (worst - 1) * lds["conflict_clk"].number
    return min(clk, lds["max_conflict_clk"].number)
