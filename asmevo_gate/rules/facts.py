"""What a rule may ask about a kernel or a file: analyses that are made once, when first asked for."""

from __future__ import annotations

from functools import cached_property

import msgspec

from asmevo_gate.analysis.known_values import KnownOperands, known_operands
from asmevo_gate.analysis.lds_access import LdsAccess, lds_accesses
from asmevo_gate.analysis.liveness import Liveness, live_registers
from asmevo_gate.analysis.pending_calls import wait_violations_over_calls
from asmevo_gate.analysis.pending_memory import PendingMemory, pending_memory
from asmevo_gate.analysis.pending_slack import Slack, too_strong_waits
from asmevo_gate.analysis.pending_violations import WaitViolation, wait_violations
from asmevo_gate.analysis.resources import Resources, kernel_resources
from asmevo_gate.constraints.call_paths import call_violations
from asmevo_gate.constraints.engine import hazard_violations
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.model import ConstraintGraph
from asmevo_gate.constraints.sequences import HouseViolation, house_violations
from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.cost.kernel import KernelCost, kernel_cost
from asmevo_gate.program.calls import CallTargets, LinkedFunction, linked_function
from asmevo_gate.program.model import Function, Program


class KernelFacts(msgspec.Struct, dict=True):
    """Facts of one function; ``base`` are those of the same kernel at base, where there is one."""

    program: Program
    kernel: Function
    base: KernelFacts | None = None
    constraints: ConstraintGraph | None = None
    """The hazards of the target; ``None`` for the newest constraint file that is shipped for it."""
    profiles: frozenset[str] = frozenset()
    """House-style profiles of the constraint file that are switched on."""
    targets: CallTargets | None = None
    """Where the calls of the file lead; ``None`` finds it for this kernel alone."""

    @cached_property
    def liveness(self) -> Liveness:
        """Live registers before each instruction."""
        return live_registers(self.kernel)

    @cached_property
    def resources(self) -> Resources:
        """Used and allocated registers, LDS, scratch, occupancy."""
        return kernel_resources(self.kernel)

    @cached_property
    def known(self) -> KnownOperands:
        """Values that operands of memory, lane and index instructions surely have."""
        return known_operands(self.kernel)

    @cached_property
    def lds_accesses(self) -> tuple[LdsAccess, ...]:
        """The LDS accesses with an address register and plain offsets."""
        return tuple(lds_accesses(self.kernel, self.known))

    @cached_property
    def cost(self) -> KernelCost:
        """Cycles of each block, each loop and the kernel at its occupancy."""
        return kernel_cost(self.kernel, self.resources.occupancy_waves_per_simd)

    @cached_property
    def pending(self) -> PendingMemory:
        """Memory operations in flight before each instruction."""
        return pending_memory(self.kernel)

    @cached_property
    def wait_violations(self) -> tuple[WaitViolation, ...]:
        """Accesses that come before a memory operation has ended."""
        inside = wait_violations(self.pending)
        return (*inside, *wait_violations_over_calls(self.pending, self.linked, inside))

    @cached_property
    def too_strong_waits(self) -> tuple[Slack, ...]:
        """Waits that are stronger than the code behind them needs."""
        return too_strong_waits(self.pending)

    @cached_property
    def hazards(self) -> tuple[HazardViolation, ...]:
        """Broken edges of the constraint graph."""
        graph, profiles = self.constraint_graph, self.profiles
        inside = hazard_violations(self.kernel, graph, profiles, view=self.constraint_view)
        known = {(one.edge_id, one.consumer.statement.place) for one in inside}
        over_calls = call_violations(self.linked, graph, profiles)
        return (*inside, *(one for one in over_calls if (one.edge_id, one.consumer.statement.place) not in known))

    @cached_property
    def house(self) -> tuple[HouseViolation, ...]:
        """Broken house rules that the profiles, or the constraint files, switch on."""
        view = self.constraint_view
        return tuple(house_violations(self.kernel, self.constraint_graph, self.profiles, view))

    @cached_property
    def linked(self) -> LinkedFunction:
        """The kernel with the code that it calls, as far as the file holds it."""
        return linked_function(self.kernel, self.targets or CallTargets(self.program.functions))

    @cached_property
    def constraint_view(self) -> FunctionView:
        """The kernel as the constraint graph sees it."""
        return FunctionView(self.kernel, self.constraint_graph)

    @cached_property
    def constraint_graph(self) -> ConstraintGraph:
        """The constraint graph that holds for the kernel."""
        return self.constraints or graph_for(self.kernel.target)


class FileFacts(msgspec.Struct):
    """Facts of one file on one target."""

    program: Program
    kernels: tuple[KernelFacts, ...]
