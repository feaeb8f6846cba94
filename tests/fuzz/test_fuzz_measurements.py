"""No results file of a profiler makes its reader crash: it is read, or refused with the file."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo_gate.errors import GateError
from asmevo_gate.verify.hardware import judge, overall, read_measurements
from tests.fuzz.mutation import VALUES, damaged_bytes, damaged_text, damaged_value

_QUICK = settings(max_examples=200, deadline=None)
_TABLES = (
    'Index,KernelName,gpu-id,VALUUtilization,SQ_THREAD_CYCLES_VALU,BeginNs,EndNs\n0,"k.kd",1,50.5,100,10,20\n',
    '"Kernel_Name","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"\n"k","GPUBusy",99.5,10,30\n',
    '"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n"k [clone .kd]",3,300,100,100.0\n',
)
_DOCUMENT = {
    "rocprofiler-sdk-tool": [
        {
            "kernel_symbols": [{"kernel_id": 1, "formatted_kernel_name": "k"}],
            "counters": [{"id": {"handle": 2}, "name": "GPUBusy"}],
            "callback_records": {
                "counter_collection": [
                    {
                        "dispatch_data": {"dispatch_info": {"kernel_id": 1}, "start_timestamp": 1, "end_timestamp": 2},
                        "records": [{"counter_id": {"handle": 2}, "value": 5.0}],
                    }
                ]
            },
            "buffer_records": {
                "kernel_dispatch": [{"dispatch_info": {"kernel_id": 1}, "start_timestamp": 1, "end_timestamp": 2}]
            },
        }
    ]
}


def _read(content: bytes) -> bool:
    """Whether the content was read."""
    with TemporaryDirectory() as directory:
        place = Path(directory) / "results.csv"
        place.write_bytes(content)
        try:
            found = read_measurements(place)
        except GateError as error:
            assert str(place) in str(error)
            return False
    overall(judge(found, found))
    return True


@_QUICK
@given(st.data())
def test_a_damaged_table_is_read_or_refused(data: st.DataObject) -> None:
    good = data.draw(st.sampled_from(_TABLES))
    text = damaged_text(good).map(lambda text: text.encode("utf-8", "surrogatepass"))
    _read(data.draw(text | damaged_bytes(good.encode())))


@_QUICK
@given(st.data())
def test_a_damaged_document_is_read_or_refused(data: st.DataObject) -> None:
    documents = (damaged_value(_DOCUMENT) | VALUES).map(msgspec.json.encode)
    _read(data.draw(documents | damaged_bytes(msgspec.json.encode(_DOCUMENT)) | st.binary(max_size=60)))


@pytest.mark.parametrize(
    "number", ["²", "٣", "9" * 5000, "9" * 400, "1e999", "-1", "nan", "", "0x10", "1_0", " 1", "true"]
)
def test_a_number_of_another_form_is_read_or_refused(number: str) -> None:
    for table in _TABLES:
        for place in ("10", "20", "30", "50.5", "99.5", "100"):
            _read(table.replace(f",{place}", f",{number}").encode())
    document = msgspec.json.encode(_DOCUMENT)
    for value in (b":1", b":2", b":5.0"):
        _read(document.replace(value, b":" + number.encode()))
        _read(document.replace(value, b':"' + number.encode() + b'"'))


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000, b'{"rocprofiler-sdk-tool":' + b"[" * 100_000])
def test_a_deep_document_is_refused(content: bytes) -> None:
    assert not _read(content)
