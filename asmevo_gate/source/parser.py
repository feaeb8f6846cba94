"""Text -> statements: the entry of this package."""

from __future__ import annotations

from asmevo_gate.source.lines import Form, Piece, logical_lines, pieces_of
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.sections import DATA_DIRECTIVES, DIRECTIVES, SectionStack
from asmevo_gate.source.statement import Kind, Place, Source, SourceProblem, Statement

_ASSIGNMENTS = {".set", ".equ", ".equiv"}
_RAW = {
    ".amdgpu_metadata": ".end_amdgpu_metadata",
    ".amd_amdgpu_hsa_metadata": ".end_amd_amdgpu_hsa_metadata",
}
_KINDS = {Form.LABEL: Kind.LABEL, Form.INSTRUCTION: Kind.INSTRUCTION, Form.ASSIGNMENT: Kind.ASSIGNMENT}


def parse_source(path: str, text: str, options: SourceOptions | None = None) -> Source:
    """The statements of an assembly file as LLVM's assembler sees them.

    Raises:
        LimitError: the file passes one of ``options.limits``.
    """
    statements: list[Statement] = []
    problems: list[SourceProblem] = []
    sections = SectionStack()
    section = sections.current
    memo: dict[str, tuple[Piece, ...]] = {}
    lines = logical_lines(text)
    number, offset = 1, 0
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        pieces = memo.get(line)
        if pieces is None:
            pieces = memo[line] = pieces_of(line)
        for form, name, rest, code, start, end in pieces:
            at = number if "\n" not in line else number + line.count("\n", 0, start)
            column = start + 1 if at == number else start - line.rindex("\n", 0, start)
            place = Place(path, at, column, offset + start, offset + end)
            kind = _KINDS.get(form)
            if kind is not None:
                statements.append(Statement(kind, name, rest, code, place, (), section))
                continue
            if form is Form.MALFORMED:
                problems.append(SourceProblem("error", f"no statement starts with '{code[:20]}'", "", place))
                continue
            lower = name.lower()
            kind = Kind.DIRECTIVE
            if lower in _ASSIGNMENTS:
                kind = Kind.ASSIGNMENT
                name, _, rest = (part.strip() for part in rest.partition(","))
            elif lower in DIRECTIVES:
                sections.apply(lower, rest)
                section = sections.current
            elif lower in DATA_DIRECTIVES and sections.is_code:
                kind = Kind.DATA
            elif lower in _RAW:
                first = position = offset + len(line) + 1
                closing = _RAW[lower]
                while index < len(lines):
                    number += 1 + line.count("\n")
                    offset += len(line) + 1
                    line = lines[index]
                    index += 1
                    if line.strip() == closing:
                        break
                    position += len(line) + 1
                rest = text[first:position]
            statements.append(Statement(kind, name, rest, code, place, (), section))
        number += 1 + line.count("\n")
        offset += len(line) + 1
    return Source(path, text, tuple(statements), tuple(problems), {}, {path: text})
