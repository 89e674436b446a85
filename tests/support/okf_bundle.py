"""A bundle of the Open Knowledge Format in the shape of the specification's example, with computations in Python."""

from pathlib import Path

from tests.surface.results import written

INDEX = """---
okf_version: "0.3"
---

# Subdirectories

* [tables](tables/index.md) - What the harbour counts.
* [metrics](metrics/) - What it earns.
* [computations](computations/index.md) - How that is computed.
* [policies](policies/index.md) - What the council decided.
* [attesters](attesters/index.md) - What checks it.
"""
BUNDLE = {
    "index.md": INDEX,
    "log.md": "# Harbour log\n\n## 2026-07-01\n* **Verified**: The council read [berth dues](/metrics/dues.md).\n",
    "tables/index.md": "# Table\n\n* [Berths](berths.md) - One row for each berth and night.\n",
    "metrics/index.md": "# Metric\n\n* [Berth dues](dues.md) - What ships pay.\n* [Old dues](dues-old.md) - Of 2025.\n",
    "computations/index.md": "# Attested Computation\n\n* [Dues](stay.md) - In euros.\n* [Fee](fee.md) - Flat.\n",
    "policies/index.md": "# Policy\n\n* [Berth policy](berth-policy.md) - The council's tariff.\n",
    "attesters/index.md": "# Attester\n\n* [equality.py](equality.py) - Compares the code.\n",
    "tables/berths.md": """---
type: Warehouse Table
title: Berths
description: One row for each berth and night.
resource: https://harbour.example/tables/berths
tags: [berths]
generated: { by: reference_agent/1.0, at: 2026-06-30T14:00:00Z }
verified:
  - { by: process:nightly, at: 2026-06-30T15:00:00Z }
  - { by: "human:Ann@harbour", at: 2026-06-29T09:00:00Z }
status: stable
stale_after: 9999-12-31T00:00:00Z
x-owner: Ann
---

# Schema

| Column | Type |
|---|---|
| `nights` | INTEGER |
""",
    "metrics/dues.md": """---
type: Metric
title: Berth dues
description: What ships pay for a berth.
generated: { by: reference_agent/1.0, at: 2026-07-05T14:00:00Z }
verified: { by: human:ann@harbour, at: 2026-07-01T09:00:00Z }
status: draft
sources:
  - id: policy
    resource: policies/berth-policy.md
    title: Berth policy
    author: team:council
  - { id: berths, resource: "../tables/berths.md", usage_count: 5 }
  - id: tariff
    resource: https://harbour.example/tariff.md
  - id: scope
    resource: all queries in the project harbour
---

# Definition

Ships pay berth dues for each night.[^policy] [A stay](/computations/stay.md) is computed.

[^policy]: Berth policy
""",
    "metrics/dues-old.md": "---\ntype: Metric\ntitle: Old dues\nstatus: deprecated\n---\n\nBerth dues before 2026.\n",
    "policies/berth-policy.md": "---\ntype: Policy\ntitle: Berth policy\n---\n\nThe council set the tariff.\n",
    "computations/stay.md": """---
type: Attested Computation
title: Dues of a stay
runtime: python
parameters:
  - { name: nights, type: integer, required: true }
  - { name: length, type: number, required: true }
  - { name: season, type: string, required: false }
executor:
  resource: python
  receipt: [run_id, executed_code, result]
attester:
  resource: attesters/equality.py
generated: { by: human:ann, at: 2026-06-30T14:00:00Z }
verified: { by: human:bob, at: 2026-07-01T09:00:00Z }
status: stable
---

# Computation

```python
rate = 2 if season == "winter" else 3
result = {"euros": nights * length * rate}
```

Ships pay by the night and the metre.
""",
    "computations/fee.md": """---
type: Attested Computation
title: Fee
runtime: python
computation: lib/fee.py
parameters: [{ name: ships, type: integer, required: true }]
attester:
  resource: ../attesters/equality.py
---

A flat fee for each ship.
""",
}
CODE = {
    "computations/lib/fee.py": "def compute(ships):\n    return ships * 7\n",
    "attesters/equality.py": '''"""Accepts a run of the sanctioned code."""


def attest(*, sanctioned_code, receipt, claimed_value):
    if receipt["executed_code"] != sanctioned_code:
        return {"ok": False, "reason": "another code ran"}
    return {"ok": receipt["result"] == claimed_value, "reason": None}
''',
}


def okf_bundle(folder: Path, **changed: str) -> Path:
    """The bundle in a folder, with other texts at some paths: `/` is written `__`, and the suffix is .md."""
    more = {f"{path.replace('__', '/')}.md": text for path, text in changed.items()}
    return written(folder, BUNDLE | CODE | more)
