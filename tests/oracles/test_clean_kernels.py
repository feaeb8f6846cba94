"""A sample of compiled kernels gives no error finding; ``benchmarks/clean_kernels.py`` runs the whole oracle."""

from __future__ import annotations

import pytest

from tests.oracles.clean_findings import findings_of_job
from tests.oracles.compiled_kernels import COMPILER, Job, compiler, sample

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(compiler() is None, reason=f"needs {COMPILER}"),
]


@pytest.mark.parametrize("job", sample(60), ids=lambda job: f"{job.gpu} {job.name}")
def test_a_compiled_kernel_has_no_error(job: Job) -> None:
    outcome = findings_of_job(job)
    assert outcome.functions
    assert [finding for finding in outcome.findings if finding[1] == "error"] == []
