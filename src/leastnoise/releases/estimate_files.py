"""The file of an estimate: keys, values and what they were before, and how wrong they are believed to be."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.releases import file_format
from leastnoise.releases.average_coverage import NoiseKept
from leastnoise.releases.columns import read_domain, write_domain
from leastnoise.releases.estimate import Estimate, RiskEstimate
from leastnoise.releases.facts import Facts
from leastnoise.releases.noise import read_noise, write_noise
from leastnoise.releases.provenance import read_provenance, write_provenance

if TYPE_CHECKING:
    import pyarrow as pa

_WITH_SIGMAS = ["value", "noisy", "sigma"]


def save(estimate: Estimate, path: str | os.PathLike[str], *, allow_seeded: bool) -> None:
    """One Parquet file: key columns, `value` and `noisy`, with all the rest in its metadata."""
    file_format.refuse_seeded_noise(estimate.seeded, allow_seeded)
    estimated = estimate.estimate_risk()
    facts = {
        "noise": write_noise(estimate.noise),
        "provenance": write_provenance(estimate.provenance),
        "method": estimate.method,
        "parameters": dict(estimate.parameters),
        "description": estimate.description,
        "risk": estimated.risk,
        "degrees_of_freedom": estimated.degrees_of_freedom,
        "sure": estimated.sure,
        "posterior_std": estimate.posterior_std,
        "nonnegative": estimate.nonnegative,
        "noise_kept": estimate.noise_kept.known,
        "domain": write_domain(estimate.domain),
        "shape": list(estimate.values.shape),
    }
    file_format.write(path, estimate._file_table(), what="estimate", facts=facts)


def from_table(table: pa.Table, facts: Facts) -> Estimate:
    """What `Estimate.save` wrote."""
    shape = facts.numbers("shape")
    facts.check("shape", all(isinstance(size, int) and size >= 0 for size in shape))
    values, noisy = (np.array(table[name]).reshape([int(size) for size in shape]) for name in ("value", "noisy"))
    parameters = facts.take("parameters")
    facts.check("parameters", isinstance(parameters, dict))
    estimated = RiskEstimate(*map(facts.any_number, ("risk", "degrees_of_freedom", "sure")))
    facts.check("risk", estimated.risk is None or estimated.risk >= 0)
    found = Estimate(
        values=values,
        noisy=noisy,
        noise=read_noise(facts.facts("noise")),
        sigmas=np.array(table["sigma"]).reshape(values.shape) if table.column_names[1:4] == _WITH_SIGMAS else None,
        provenance=read_provenance(facts.facts("provenance")),
        method=facts.text("method"),
        parameters=parameters,
        description=facts.text("description"),
        estimate_risk=lambda: estimated,
        posterior_std=facts.optional_number("posterior_std"),
        exact_std=np.array(table["std"]) if "std" in table.column_names[-1:] else None,
        nonnegative=facts.flag("nonnegative"),
        noise_kept=NoiseKept(known=facts.optional_number("noise_kept")),
        domain=read_domain(facts.take("domain"), table),
    )
    facts.check("posterior_std", found.posterior_std is None or found.posterior_std >= 0)
    facts.check("noise_kept", found.noise_kept.known is None or 0 <= found.noise_kept.known <= 1)
    facts.check("domain", found.domain is None or found.domain.size == values.size)
    facts.finish()
    return found
