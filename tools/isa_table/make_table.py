"""Regenerate ``asmevo_gate/isa/data/instructions.json.z`` from LLVM's instruction descriptions.

    python tools/isa_table/make_table.py [--work DIRECTORY] [--check]

Needs g++ and LLVM 22's development files (Debian: ``llvm-22-dev libzstd-dev zlib1g-dev libxml2-dev``).
With ``--check`` the committed file is compared with what would be written, and nothing is changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from classes import combined  # noqa: E402
from descriptions import Descriptions  # noqa: E402
from forms import Form, add_sample  # noqa: E402
from hand_rules import HandRules  # noqa: E402
from llvm_program import assemble, build, describe, synthesize  # noqa: E402
from probes import Kind, kind_of, probes  # noqa: E402
from samples import derived, lane_mask_spellings, vopd_lines  # noqa: E402

from asmevo_gate.isa.form_key import FormKey, form_key  # noqa: E402
from asmevo_gate.isa.instruction import Op  # noqa: E402
from asmevo_gate.isa.operand_text import slot, split  # noqa: E402
from asmevo_gate.isa.targets import find_target, target_names  # noqa: E402

LINES = ROOT / "tests/oracles/isa_lines.txt.xz"
"""One or two accepted lines of every form with the mask of targets that accept them: material for the comparison."""
OUTPUT = ROOT / "asmevo_gate/isa/data/instructions.json.z"
GENERATIONS = (
    "gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1200", "gfx1250",
)  # fmt: skip
"""Targets whose texts are the candidates for all: gfx1151 and gfx1201 have no text that none of these has."""
SCHEMA = "asmevo-gate/instructions/4"
_SOURCES = [
    *(Path(__file__).with_name(name).read_bytes() for name in ("forms.py", "probes.py", "llvm_tables.cpp")),
    *((ROOT / "asmevo_gate/isa" / name).read_bytes() for name in ("form_key.py", "operand_text.py")),
]
"""What the kept forms depend on, as it was when the program started."""


def machines(target: str) -> dict[str, int]:
    """The LLVM subtargets that together are one target, one for each wave size, the default first."""
    default, *others = find_target(target).wave_sizes
    return {target: default} | {f"{target},+wavefrontsize{wave}": wave for wave in others}


def accepted_texts(program: Path, target: str) -> list[str]:
    """Step 1: the texts of all opcodes that the target's assembler accepts; kept beside the program."""
    kept = program.with_name(f"{program.name}-{target}.txt")
    if kept.exists() and kept.stat().st_mtime >= program.stat().st_mtime:
        return kept.read_text().splitlines()
    texts: dict[str, None] = {}
    lines = synthesize(program, target)
    for machine in machines(target):
        for text, assembled in assemble(program, machine, _supported(program, machine, lines)):
            if not assembled.error:
                texts[text] = None
        # Wave size matters to lane masks and matrix operands only.
        lines = [line for line in lines if line not in texts and line.startswith("v_")]
    kept.write_text("\n".join(texts) + "\n")
    return list(texts)


def one_of_each_shape(texts: Iterable[str]) -> list[str]:
    """One text for every mnemonic, number and width of operands, and set of modifiers."""
    kept: dict[Any, str] = {}
    for text in texts:
        tokens = split(text)
        shape = tuple(
            (operand[0], operand[-2:] in (".l", ".h"), operand.count(","), _span(operand))
            for operand in tokens.operands
        )
        kept.setdefault((tokens.mnemonic, shape, tuple(tokens.modifiers)), text)
    return list(kept.values())


def _span(operand: str) -> int:
    low, colon, high = operand.strip("vsa[]").partition(":")
    return int(high) - int(low) if colon and low.isdigit() and high.isdigit() else 0


def forms_of(program: Path, target: str, candidates: list[str], description: dict[str, Any]) -> dict[FormKey, Form]:
    """Steps 2 and 3: forms from all candidate lines, then what each form takes; kept beside the program."""
    kept = program.with_name(f"forms-{target}-{_fingerprint(candidates)}.json")
    if kept.exists():
        return {FormKey(*key): Form.from_json(row) for key, row in json.loads(kept.read_text())}
    forms = _find_forms(program, target, candidates, description)
    kept.write_text(json.dumps([[key, form.to_json()] for key, form in forms.items()]))
    return forms


def _without_suffix(line: str) -> str:
    return form_key(line.partition(" ")[0], 0, {}).base


def _depends_on_wave(line: str) -> bool:
    """Whether the wave size may decide what the operands are: lane masks, matrices, and loads that transpose."""
    return line.startswith("v_") or "_load_tr" in line.partition(" ")[0]


def _fingerprint(candidates: list[str]) -> str:
    digest = hashlib.sha256("\n".join(candidates).encode())
    for source in _SOURCES:
        digest.update(source)
    return digest.hexdigest()[:12]


def _find_forms(program: Path, target: str, candidates: list[str], description: dict[str, Any]) -> dict[FormKey, Form]:
    descriptions = Descriptions(description)
    forms: dict[FormKey, Form] = {}
    conflicts: list[str] = []
    for machine, wave in machines(target).items():
        lines = candidates if machine == target else [line for line in candidates if _depends_on_wave(line)]
        for text, assembled in assemble(program, machine, _supported(program, machine, lines)):
            if not assembled.error:
                add_sample(forms, text, assembled, descriptions, wave, conflicts)
    print(f"{target}: {len(forms)} forms from {len(candidates)} lines", file=sys.stderr)
    if conflicts:
        raise SystemExit(f"{target}: lines of one form disagree:\n" + "\n".join(conflicts[:20]))
    _learn_kinds(program, target, forms, descriptions)
    return forms


def _learn_kinds(program: Path, target: str, forms: dict[FormKey, Form], descriptions: Descriptions) -> None:
    """Try every modifier and kind of operand on a line of each kind of form, and tell all forms of the kind."""
    tried = list(probes(forms, descriptions.opcodes))
    modifiers: dict[Kind, set[str]] = defaultdict(set)
    letters: dict[tuple[Kind, int], set[str]] = defaultdict(set)
    same: dict[tuple[Kind, str], set[str]] = defaultdict(set)
    """Features (first) -> further features that leave the opcode as it is: glc of a load changes no register."""
    answers = assemble(program, target, [probe.text for probe in tried])
    for probe, (text, assembled) in zip(tried, answers, strict=True):
        if assembled.error:
            continue
        if probe.position >= 0:
            letters[probe.kind, probe.position].add(probe.letter)
            continue
        features = _key(text).features
        if assembled.opcode == probe.opcode or features == probe.features:
            modifiers[probe.kind].add(probe.modifier)
        if assembled.opcode == probe.opcode and features != probe.features:
            same[probe.kind, probe.features].add(features)
    print(f"{target}: {len(forms)} forms, {len(tried)} lines tried", file=sys.stderr)
    for key, form in list(forms.items()):
        kinds = {kind_of(key, descriptions.opcodes[number]) for number in form.opcodes}
        for kind in kinds:
            form.modifiers |= modifiers[kind]
            for position in range(key.count):
                form.letters[position] |= letters[kind, position]
        for feature in {feature for kind in kinds for feature in same[kind, key.features]}:
            forms.setdefault(key._replace(features=feature), form)


def _key(text: str) -> FormKey:
    tokens = split(text)
    return form_key(tokens.mnemonic, len(tokens.operands), tokens.modifiers)


def _supported(program: Path, machine: str, lines: list[str]) -> list[str]:
    """The lines whose mnemonic the machine has; one line each is enough to see that it has not."""
    first: dict[str, str] = {}
    for line in lines:
        first.setdefault(line.partition(" ")[0], line)
    missing = {
        text.partition(" ")[0]
        for text, assembled in assemble(program, machine, first.values())
        if "instruction not supported on this GPU" in assembled.error
        or assembled.error.startswith("invalid instruction")
    }
    return [line for line in lines if line.partition(" ")[0] not in missing]


def half_result_mnemonics(forms: dict[str, dict[FormKey, Form]], descriptions: Descriptions) -> frozenset[str]:
    """Mnemonics whose result is 16 bits wide: LLVM's true16 opcodes of gfx11 and later say so by the register class."""
    return frozenset(
        key.base
        for found in forms.values()
        for key, form in found.items()
        if any(
            opcode.defs and opcode.register_classes[0] in ("VGPR_16", "VGPR_16_Lo128")
            for opcode in (descriptions.opcodes[number] for number in form.opcodes)
        )
    )


def rows_of(
    target: str, forms: dict[FormKey, Form], descriptions: Descriptions, rules: HandRules, half_results: frozenset[str]
) -> dict[FormKey, Any]:
    """The content of a row for each form, without the target mask."""
    rows: dict[FormKey, Any] = {}
    for key, form in forms.items():
        opcodes = [descriptions.opcodes[number] for number in sorted(form.opcodes)]
        classes, size, schedule = combined(key.base, opcodes)
        roles = "".join(form.roles)
        written, read = set(form.written or ()), set(form.read or ())
        roles, read = rules.apply(target, key, roles, opcodes, read, descriptions)
        if key.base in half_results and roles[:1] in ("D", "O") and rules.keeps_high_half(target):
            roles = "K" + roles[1:]
        taken, letters_of = _as_encoded(key, form, forms)
        # The result of a comparison, also where lines of one wave size only were tried.
        waves = find_target(target).wave_sizes
        compares = key.base.startswith("v_cmp_") and roles[:1] in ("D", "O")
        lane_mask = ["1", "2"] if compares and len(waves) > 1 else []
        slots = tuple(
            _slot_text(
                letters, (not position and lane_mask) or _widths(form, position, target, classes), form, position
            )
            for position, letters in enumerate(letters_of)
        )
        # The other encodings exist in each wave size, with other lane masks.
        only_wave = next(iter(form.waves)) if key.variant == "vopd" and len(form.waves) < len(waves) else 0
        rows[key] = (
            roles, (tuple(sorted(written)), tuple(sorted(read))), (classes, size, schedule),
            tuple(sorted(taken)), slots, only_wave,
        )  # fmt: skip
    return rows


def _slot_text(letters: set[str], widths: list[str], form: Form, position: int) -> str:
    shapes = ",".join("-".join(map(str, shape)) for shape in sorted(form.shapes[position]))
    return f"{''.join(sorted(letters))} {','.join(widths)} {shapes} {form.elements[position]}".rstrip()


def _widths(form: Form, position: int, target: str, classes: int) -> list[str]:
    """Widths in dwords; a vector operand whose width depends on the wave size has it behind a slash."""
    waves = find_target(target).wave_sizes
    seen = form.widths[position]
    by_wave = [{length for length, wave in seen if wave == one} for one in waves]
    apart = all(by_wave) and not set.intersection(*by_wave) and "v" in form.letters[position]
    found: list[str] = []
    for length in sorted({length for length, _ in seen}):
        only = [wave for wave in waves if (length, wave) in seen]
        tied = (classes & Op.WMMA or apart) and len(only) < len(waves)
        found += [f"{length}/{wave}" for wave in only] if tied else [str(length)]
    return found


def _as_encoded(key: FormKey, form: Form, forms: dict[FormKey, Form]) -> tuple[set[str], list[set[str]]]:
    """Modifiers and operand kinds of a form. A bare mnemonic takes what its encodings take together: a modifier
    tried on a bare line shows only that one of the mnemonics of its kind has an encoding with that modifier."""
    letters = [set(kinds) for kinds in form.letters]
    encodings = _encodings(key, forms)
    for kinds, low in zip(letters, form.low_only, strict=True):
        if low and (key.variant in ("e32", "dpp") or (key.variant in _BARE and not encodings)):
            kinds.add("l")
    for _, text in form.samples:
        if "::" not in text:
            for position, (kinds, operand) in enumerate(zip(letters, split(text).operands, strict=True)):
                if operand[0] == "[" and not form.widths[position]:
                    kinds.add("[")
                if kinds and slot(operand).value is not None:
                    kinds.add("#")
    for position, kinds in enumerate(letters):
        if not kinds and key.base.startswith("v_") and _always_vcc(form, position):
            kinds.add("c")
    if not encodings:
        return form.modifiers, letters
    taken = [_as_encoded(other, forms[other], forms) for other in encodings]
    modifiers = {name for names, _ in taken for name in names}
    for position in range(key.count):
        of_each = [kinds[position] for _, kinds in taken]
        joined = set().union(*of_each) | (letters[position] & {".", "#"})
        joined -= {"l", "c"} if any(kinds - {"c"} for kinds in of_each) else {"l"}
        if all("l" in kinds for kinds in of_each):
            joined.add("l")
        elif (halves := [kinds for kinds in of_each if "." in kinds]) and all("l" in kinds for kinds in halves):
            joined.add("h")
        letters[position] = joined
    return modifiers, letters


def _always_vcc(form: Form, position: int) -> bool:
    texts = [text for _, text in form.samples if "::" not in text]
    return bool(texts) and all(split(text).operands[position] in ("vcc", "vcc_lo") for text in texts)


_BARE = {"": ("e32", "e64"), "bare_dpp": ("dpp", "e64_dpp")}
"""Variants of a mnemonic without suffix -> the encodings that the assembler chooses from."""


def _encodings(key: FormKey, forms: dict[FormKey, Form]) -> list[FormKey]:
    """The forms that a vector mnemonic without suffix stands for."""
    if not key.base.startswith("v_"):
        return []
    return [other for other in (key._replace(variant=name) for name in _BARE.get(key.variant, ())) if other in forms]


class _Interned:
    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._index: dict[Any, int] = {}

    def __call__(self, row: Any) -> int:
        index = self._index.setdefault(row, len(self.rows))
        if index == len(self.rows):
            self.rows.append(row)
        return index


def document_of(llvm: str, rows: dict[str, dict[FormKey, Any]]) -> dict[str, Any]:
    """The table: rows that are equal on several targets are one row with a target mask."""
    targets = list(rows)
    merged: dict[tuple[FormKey, Any], int] = defaultdict(int)
    for number, target in enumerate(targets):
        for key, content in rows[target].items():
            merged[key, content] |= 1 << number
    implicit, attributes, modifiers, slots = _Interned(), _Interned(), _Interned(), _Interned()
    mnemonics: dict[str, list[Any]] = defaultdict(list)
    for (key, (roles, touched, attribute, names, kinds, only_wave)), mask in sorted(merged.items()):
        row = [
            key.variant, key.features, mask, roles, implicit(touched), attributes(attribute), modifiers(names),
            slots(kinds),
        ]  # fmt: skip
        mnemonics[key.base].append([*row, only_wave] if only_wave else row)
    document = {
        "schema": SCHEMA,
        "version": "",
        "llvm": llvm,
        "targets": targets,
        "implicit": implicit.rows,
        "attributes": attributes.rows,
        "modifiers": modifiers.rows,
        "slots": slots.rows,
        "mnemonics": mnemonics,
    }
    content = json.dumps(document, separators=(",", ":"), sort_keys=True).encode()
    document["version"] = hashlib.sha256(content).hexdigest()[:16]
    return document


def write_lines(forms: dict[str, dict[FormKey, Form]]) -> None:
    """Keep sample lines of every form, each with a mask of the targets (in the order of the table) it is for."""
    masks: dict[str, int] = defaultdict(int)
    for number, found in enumerate(forms.values()):
        for form in found.values():
            for _, text in form.samples[:2]:
                masks[text] |= 1 << number
    LINES.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(f"{mask:x} {text}\n" for text, mask in sorted(masks.items()))
    LINES.write_bytes(lzma.compress(content.encode(), preset=9))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=ROOT / "build/isa_table", help="directory for the built program")
    parser.add_argument("--check", action="store_true", help="compare with the committed file, write nothing")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    program = build(arguments.work)
    description = describe(program)
    descriptions = Descriptions(description)
    targets = list(target_names())
    with ProcessPoolExecutor(arguments.jobs) as pool:
        texts: dict[str, None] = {}
        for accepted in pool.map(accepted_texts, [program] * len(GENERATIONS), GENERATIONS):
            texts |= dict.fromkeys(accepted)
        shapes = one_of_each_shape(texts)
        lines = list(derived(shapes))
        printed = {_without_suffix(line) for line in shapes}
        renamed = [line for line in lines if _without_suffix(line) not in printed]
        candidates = [
            *lines,
            *lane_mask_spellings([*shapes, *renamed]),
            *vopd_lines([o.name for o in descriptions.opcodes]),
        ]
        print(f"{len(texts)} texts, {len(shapes)} shapes, {len(candidates)} candidate lines", file=sys.stderr)
        forms: dict[str, dict[FormKey, Form]] = {}
        count = len(targets)
        for target, found in zip(
            targets,
            pool.map(forms_of, [program] * count, targets, [candidates] * count, [description] * count),
            strict=True,
        ):
            forms[target] = found
    rules = HandRules.load()
    half_results = half_result_mnemonics(forms, descriptions)
    rows = {target: rows_of(target, forms[target], descriptions, rules, half_results) for target in targets}
    document = document_of(descriptions.llvm, rows)
    data = zlib.compress(json.dumps(document, separators=(",", ":")).encode(), 9)
    print(f"version {document['version']}, {len(data)} bytes, {sum(map(len, document['mnemonics'].values()))} rows")
    if arguments.check:
        committed = json.loads(zlib.decompress(OUTPUT.read_bytes()))
        return 0 if committed["version"] == document["version"] else 1
    OUTPUT.write_bytes(data)
    write_lines(forms)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
