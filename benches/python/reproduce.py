"""Every table and figure of the five papers, run again, and the document of what came out.

    make reproduce                   # all; docs/reproduction.md and its pictures
    make reproduce QUICK=1           # small problems, in minutes; the document lies in out/
    make reproduce ONLY=mpd_paper    # one part again, the others as they were kept
    make reproduce ONLY=none         # no part: the document alone

`papers.py` lists the parts; `report.py` runs them and puts the document together.
"""

import report
from papers import DOCUMENT

if __name__ == "__main__":
    report.main(DOCUMENT, __doc__ or "")
