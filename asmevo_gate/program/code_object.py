"""Code objects (``.o``, ``.co``, ``.hsaco``, offload bundles) as assembly text.

A code object is read here and disassembled elsewhere; :func:`assembly_text` then writes what an assembly file of
the same kernels would say: target, code with labels, descriptors, metadata. The text goes through the same parser
as any other, so that every analysis works on code objects too, and places are lines of that text.
"""

from __future__ import annotations

import json
import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from asmevo_gate.errors import GateError, LimitError
from asmevo_gate.isa.resource_limits import RegisterFile, descriptor_directives, extra_sgprs, has_xnack, resource_limits
from asmevo_gate.isa.targets import Target, document, find_target
from asmevo_gate.program import compressed_bundle, msgpack
from asmevo_gate.program.destinations import MachineInstruction, destinations, with_label
from asmevo_gate.program.elf import ElfFile, read_elf
from asmevo_gate.program.file_kind import BUNDLE, COMPRESSED_BUNDLE

MAX_BYTES = 1 << 30
MAX_BUNDLE_ENTRIES = 1024

_DESCRIPTOR = struct.Struct("<III4xq20xIIIHH4x")
_METADATA_NOTE = ("AMDGPU", 32)
_FUNCTION, _NO_TYPE = 2, 0
_PLAIN_NAME = re.compile(r"[A-Za-z_.$][\w.$@]*")
_ENTRY_ALIGNMENT = 256
"""Bytes; a linked section of code is aligned to it as well (AMDGPUUsage, KERNEL_CODE_ENTRY_BYTE_OFFSET)."""
_SETTINGS = {0: None, 1: "", 2: "-", 3: "+"}
"""Two bits of e_flags for XNACK and SRAM-ECC: unsupported, any, off, on (code object V4 and later)."""


class CodeSection(msgspec.Struct, frozen=True):
    """A section of instructions; ``functions`` maps each function's name to (offset, size), size 0 when not known."""

    name: str
    code: bytes
    functions: dict[str, tuple[int, int]]


class CodeObject(msgspec.Struct, frozen=True):
    """One code object for one processor. ``descriptors`` holds the decoded fields by kernel, under the names of the
    ``.amdhsa_`` directives; ``metadata`` is the decoded note or ``None``. ``problems`` say what could not be read."""

    path: str
    entry: str
    """Target of the bundle entry, ``""`` for a plain file."""
    target: Target
    sections: tuple[CodeSection, ...]
    descriptors: dict[str, dict[str, int]]
    metadata: object
    problems: tuple[str, ...]


def read_code_objects(data: bytes, path: str) -> tuple[CodeObject, ...]:
    """Every AMDGPU code object in a file: one in an ELF file, several in a bundle.

    Raises:
        GateError: the file is damaged, compressed in a way that cannot be undone here, or for a processor that the gate
            has no data for.
        LimitError: the file passes a limit.
    """
    if len(data) > MAX_BYTES:
        raise LimitError(f"code object larger than {MAX_BYTES >> 20} MiB", "", path)
    if data.startswith(COMPRESSED_BUNDLE):
        data = compressed_bundle.uncompressed(data, path)
    if data.startswith(BUNDLE):
        return tuple(_read_object(part, path, entry) for entry, part in _bundle_entries(data, path) if part)
    return (_read_object(data, path, ""),)


def _bundle_entries(data: bytes, path: str) -> Iterator[tuple[str, bytes]]:
    """(entry id, content) of the AMDGPU entries (clang-offload-bundler's binary format)."""
    try:
        (count,) = struct.unpack_from("<Q", data, len(BUNDLE))
        if count > MAX_BUNDLE_ENTRIES:
            raise LimitError(f"more than {MAX_BUNDLE_ENTRIES} entries in the bundle", "", path)
        position = len(BUNDLE) + 8
        left = len(data)
        for _ in range(count):
            start, size, length = struct.unpack_from("<QQQ", data, position)
            position += 24
            entry = data[position : position + length].decode("utf-8", "replace")
            position += length
            if position > len(data) or start > len(data) or size > len(data) - start:
                raise GateError("the offload bundle is damaged: an entry lies outside of it", "build it again", path)
            left -= size
            if left < 0:
                raise GateError("the offload bundle is damaged: its entries are larger than it", "build it again", path)
            if "amdgcn" in entry:
                yield entry, data[start : start + size]
    except struct.error:
        raise GateError("the offload bundle is damaged: it ends inside its table", "build it again", path) from None


def _read_object(data: bytes, path: str, entry: str) -> CodeObject:
    elf = read_elf(data, path)
    target = _target(elf, path)
    problems: list[str] = []
    functions = _functions(elf)
    sections = tuple(
        CodeSection(section.name, section.data, functions.get(number, {}))
        for number, section in enumerate(elf.sections)
        if section.is_code
    )
    descriptors = {}
    for symbol in elf.symbols:
        if symbol.name.endswith(".kd"):
            kernel = symbol.name.removesuffix(".kd")
            raw = elf.sections[symbol.section].data[symbol.offset : symbol.offset + _DESCRIPTOR.size]
            if len(raw) == _DESCRIPTOR.size:
                descriptors[kernel] = decode_descriptor(raw, target)
            else:
                problems.append(f"the descriptor of '{kernel}' lies outside of its section")
    metadata = _metadata(elf, problems)
    for kernel, count in _vgpr_counts(metadata).items():
        values = descriptors.get(kernel)
        if values and _same_allocation(count, values, target):
            values["next_free_vgpr"] = count
    return CodeObject(path, entry, target, sections, descriptors, metadata, tuple(problems))


def _vgpr_counts(metadata: object) -> dict[str, int]:
    """``.vgpr_count`` of each kernel in the metadata."""
    kernels = metadata.get("amdhsa.kernels") if isinstance(metadata, dict) else None
    entries = [entry for entry in kernels if isinstance(entry, dict)] if isinstance(kernels, list) else []
    counts = {str(entry.get(".name")): entry.get(".vgpr_count") for entry in entries}
    return {name: count for name, count in counts.items() if isinstance(count, int) and count > 0}


def _same_allocation(count: int, values: dict[str, int], target: Target) -> bool:
    """True when the exact count of the metadata is what the descriptor encodes rounded up."""
    granule = _register_file(target, values.get("wavefront_size32")).encoding_granule
    return -(-count // granule) * granule == values["next_free_vgpr"]


def _register_file(target: Target, wave32: int | None) -> RegisterFile:
    files = resource_limits(target).vgpr
    wave_size = target.wave_sizes[0] if wave32 is None else 32 if wave32 else 64
    return files.get(wave_size) or next(iter(files.values()))


def _target(elf: ElfFile, path: str) -> Target:
    machine = elf.flags & 0xFF
    name = document()["elf_machines"].get(str(machine))
    if name is None:
        raise GateError(f"unknown processor 0x{machine:02x} in e_flags", "see EF_AMDGPU_MACH in AMDGPUUsage", path)
    features = {}
    if elf.abi_version >= 2:
        for feature, shift in (("xnack", 8), ("sramecc", 10)):
            setting = _SETTINGS[elf.flags >> shift & 3]
            if setting:
                features[feature] = setting
    return find_target(name, features)


def _functions(elf: ElfFile) -> dict[int, dict[str, tuple[int, int]]]:
    """The functions of each section, by the number of the section."""
    found: dict[int, dict[str, tuple[int, int]]] = {}
    kernels = {symbol.name.removesuffix(".kd") for symbol in elf.symbols if symbol.name.endswith(".kd")}
    for symbol in elf.symbols:
        is_function = symbol.kind == _FUNCTION or (symbol.kind == _NO_TYPE and symbol.name in kernels)
        if is_function and symbol.name:
            found.setdefault(symbol.section, {})[symbol.name] = (symbol.offset, symbol.size)
    return {section: dict(sorted(names.items(), key=lambda item: item[1])) for section, names in found.items()}


def _metadata(elf: ElfFile, problems: list[str]) -> object:
    for owner, kind, content in elf.notes():
        if (owner, kind) == _METADATA_NOTE:
            try:
                return msgpack.decode(content)
            except msgpack.Malformed as reason:
                problems.append(f"the metadata note is damaged: {reason}")
    return None


_FIELDS = (
    ("float_round_mode_32", 1, 12, 2), ("float_round_mode_16_64", 1, 14, 2), ("float_denorm_mode_32", 1, 16, 2),
    ("float_denorm_mode_16_64", 1, 18, 2), ("dx10_clamp", 1, 21, 1), ("round_robin_scheduling", 1, 21, 1),
    ("ieee_mode", 1, 23, 1), ("fp16_overflow", 1, 26, 1), ("workgroup_processor_mode", 1, 29, 1),
    ("memory_ordered", 1, 30, 1), ("forward_progress", 1, 31, 1),
    ("system_sgpr_private_segment_wavefront_offset", 2, 0, 1), ("enable_private_segment", 2, 0, 1),
    ("system_sgpr_workgroup_id_x", 2, 7, 1), ("system_sgpr_workgroup_id_y", 2, 8, 1),
    ("system_sgpr_workgroup_id_z", 2, 9, 1), ("system_sgpr_workgroup_info", 2, 10, 1),
    ("system_vgpr_workitem_id", 2, 11, 2),
    ("exception_fp_ieee_invalid_op", 2, 24, 1), ("exception_fp_denorm_src", 2, 25, 1),
    ("exception_fp_ieee_div_zero", 2, 26, 1), ("exception_fp_ieee_overflow", 2, 27, 1),
    ("exception_fp_ieee_underflow", 2, 28, 1), ("exception_fp_ieee_inexact", 2, 29, 1),
    ("exception_int_div_zero", 2, 30, 1),
    ("tg_split", 3, 16, 1), ("shared_vgpr_count", 3, 0, 4), ("named_barrier_count", 3, 14, 3),
    ("inst_pref_size", 3, 4, 8),
    ("user_sgpr_private_segment_buffer", 4, 0, 1), ("user_sgpr_dispatch_ptr", 4, 1, 1),
    ("user_sgpr_queue_ptr", 4, 2, 1), ("user_sgpr_kernarg_segment_ptr", 4, 3, 1),
    ("user_sgpr_dispatch_id", 4, 4, 1), ("user_sgpr_flat_scratch_init", 4, 5, 1),
    ("user_sgpr_private_segment_size", 4, 6, 1), ("wavefront_size32", 4, 10, 1), ("uses_dynamic_stack", 4, 11, 1),
    ("user_sgpr_kernarg_preload_length", 5, 0, 7), ("user_sgpr_kernarg_preload_offset", 5, 7, 9),
)  # fmt: skip
"""Directive, word (1 to 3: compute_pgm_rsrc1 to 3, 4: kernel code properties, 5: kernarg preload), first bit, bits
(AMDGPUUsage, kernel descriptor tables). A field counts on targets that have its directive."""


def decode_descriptor(raw: bytes, target: Target) -> dict[str, int]:
    """The 64 bytes of a kernel descriptor as values of ``.amdhsa_`` directives.

    Register counts are what the granules allow, so they may be above what the source asked for (a code object's
    metadata may tell the exact count). VCC and
    FLAT_SCRATCH are part of the encoded SGPR count: they are reported as not reserved. Where SGPRs are not
    encoded, all are there.

    Raises:
        ValueError: not 64 bytes.
    """
    if len(raw) != _DESCRIPTOR.size:
        raise ValueError(f"a kernel descriptor has {_DESCRIPTOR.size} bytes, not {len(raw)}")
    group, private, kernarg, _, third, first, second, properties, preload = _DESCRIPTOR.unpack(raw)
    words = (0, first, second, third, properties, preload)
    directives = descriptor_directives()
    values = {
        "group_segment_fixed_size": group,
        "private_segment_fixed_size": private,
        "kernarg_size": kernarg,
        "user_sgpr_count": second >> 1 & (1 << (resource_limits(target).user_sgprs.bit_length())) - 1,
    }
    for name, word, shift, width in _FIELDS:
        if directives[name].exists_on(target):
            values[name] = words[word] >> shift & (1 << width) - 1
    values.update(_registers(first, third, values.get("wavefront_size32"), target))
    return values


def _registers(first: int, third: int, wave32: int | None, target: Target) -> dict[str, int]:
    """VGPR and SGPR counts of compute_pgm_rsrc1, and the accumulation offset of compute_pgm_rsrc3."""
    granule = _register_file(target, wave32).encoding_granule
    values = {"next_free_vgpr": ((first & 0x3F) + 1) * granule}
    if descriptor_directives()["accum_offset"].exists_on(target):
        values["accum_offset"] = ((third & 0x3F) + 1) * 4
    sgpr_granule = resource_limits(target).sgpr.encoding_granule
    if sgpr_granule is None:
        values["next_free_sgpr"] = int(target.facts["addressable_sgpr"])
        return values
    extra = extra_sgprs(target, vcc=False, flat_scratch=False, xnack=has_xnack(target))
    numbered = ((first >> 6 & 15) + 1) * sgpr_granule - extra
    values["next_free_sgpr"] = min(max(numbered, 0), int(target.facts["addressable_sgpr"]))
    for name in ("reserve_vcc", "reserve_flat_scratch"):
        if descriptor_directives()[name].exists_on(target):
            values[name] = 0
    return values


def assembly_text(code_object: CodeObject, instructions: Mapping[str, Sequence[MachineInstruction]]) -> str:
    """The code object as assembly text; ``instructions`` holds the disassembly of each section by its name.

    Branches go to labels. Code outside of every function (padding) is left out; a section without functions is
    kept whole. Names that are no plain symbols are replaced by ``symbol_N``, so that no name can add lines.
    """
    target = code_object.target
    identity = target.name + "".join(f":{name}{sign}" for name, sign in sorted(target.features.items(), reverse=True))
    lines = [f'\t.amdgcn_target "amdgcn-amd-amdhsa--{identity}"']
    names = _SafeNames()
    for section in code_object.sections:
        lines.append(f"\t.section {names.of(section.name)}")
        lines += _section_lines(section, instructions.get(section.name, ()), names)
    for kernel, values in code_object.descriptors.items():
        lines += ["\t.section .rodata", f"\t.amdhsa_kernel {names.of(kernel)}"]
        lines += [f"\t\t.amdhsa_{name} {value}" for name, value in values.items()]
        lines.append("\t.end_amdhsa_kernel")
    if isinstance(code_object.metadata, dict):
        lines += ["\t.amdgpu_metadata", _as_yaml(code_object.metadata), "\t.end_amdgpu_metadata"]
    return "\n".join(lines) + "\n"


def _as_yaml(metadata: dict[str, object]) -> str:
    """JSON on one line is YAML too."""
    return json.dumps(metadata, default=lambda value: value.hex() if isinstance(value, bytes) else str(value))


class _SafeNames:
    """Symbol names that can stand in a line of assembly."""

    def __init__(self) -> None:
        self._replaced: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The name itself, or its replacement."""
        if _PLAIN_NAME.fullmatch(name):
            return name
        return self._replaced.setdefault(name, f"symbol_{len(self._replaced)}")


def _section_lines(
    section: CodeSection, instructions: Sequence[MachineInstruction], names: _SafeNames
) -> Iterator[str]:
    extents = list(section.functions.values())
    inside = [item for item in instructions if _in_function(item.offset, extents)]
    leads = destinations(inside)
    labels = {item.offset for item in inside} & set(leads.values())
    starts: dict[int, list[str]] = {}
    for name, (offset, _) in section.functions.items():
        starts.setdefault(offset, []).append(names.of(name))
    for item in inside:
        if item.offset in starts and item.offset % _ENTRY_ALIGNMENT == 0:
            yield "\t.p2align 8"
        for name in starts.get(item.offset, ()):
            yield f"\t.type {name},@function"
            yield f"{name}:"
        if item.offset in labels:
            yield f".L{item.offset:x}:"
        destination = leads.get(item.offset)
        text = with_label(item, f".L{destination:x}") if destination in labels else item.text
        yield f"\t{text}\t// {item.offset:06x}"


def _in_function(offset: int, extents: Sequence[tuple[int, int]]) -> bool:
    """Whether the last function that starts at the offset or before covers it; ``extents`` are sorted."""
    if not extents:
        return True
    before = bisect_right(extents, offset, key=lambda extent: extent[0])
    if not before:
        return False
    start, size = extents[before - 1]
    return size == 0 or offset < start + size
