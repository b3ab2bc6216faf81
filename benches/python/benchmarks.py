"""The page of benchmarks: its scripts are run, their tables put together.

    make benchmarks                   # all; docs/benchmarks.md
    make benchmarks QUICK=1           # small problems: do they run? The document lies in out/
    make benchmarks ONLY=exact        # one part again, the others as they were kept
    make benchmarks ONLY=none         # no part: the document alone

`measures.py` lists the parts; `report.py` runs them and puts the document together.
"""

import report
from measures import DOCUMENT

if __name__ == "__main__":
    report.main(DOCUMENT, __doc__ or "")
