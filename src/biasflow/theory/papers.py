"""The four papers, and how to cite them (`references.bib` has the same entries)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper by its tag, the letter before the slash of an id."""

    tag: str
    authors: str
    title: str
    year: int
    subject: str = ""
    bibtex: str = ""

    def __str__(self) -> str:
        return f"{self.tag}: {self.authors}, {self.title} ({self.year})"


PAPERS = (
    Paper(
        "W",
        "B. Woodworth et al.",
        "Kernel and rich regimes in overparametrized models",
        2020,
        "linear regression by diagonal networks of any depth, and matrix completion: how the size "
        "of the start decides between a kernel method and sparsity",
        """@inproceedings{W,
  author    = {Woodworth, Blake and Gunasekar, Suriya and Lee, Jason D. and Moroshko, Edward and """
        """Savarese, Pedro and Golan, Itay and Soudry, Daniel and Srebro, Nathan},
  title     = {Kernel and rich regimes in overparametrized models},
  booktitle = {Conference on Learning Theory},
  series    = {Proceedings of Machine Learning Research},
  volume    = {125},
  pages     = {3635--3673},
  year      = {2020}
}""",
    ),
    Paper(
        "R",
        "D. A. R. Robin",
        "Non-linear parameterizations of least-squares gradient flow: mirror flow, implicit bias "
        "and convergence speed",
        2021,
        "mirror flow on least squares: where it ends and how fast, and networks that follow one",
        """@techreport{R,
  author      = {Robin, David A. R.},
  title       = {Non-linear parameterizations of least-squares gradient flow: mirror flow, """
        """implicit bias and convergence speed},
  institution = {{\\'E}cole normale sup{\\'e}rieure},
  type        = {Rapport de stage},
  year        = {2021}
}""",
    ),
    Paper(
        "B",
        "E. Boursier, L. Pillaud-Vivien, N. Flammarion",
        "Gradient flow dynamics of shallow ReLU networks for square loss and orthogonal inputs",
        2022,
        "regression by two-layer ReLU networks from a tiny start, on inputs that are orthogonal",
        """@inproceedings{B,
  author    = {Boursier, Etienne and Pillaud-Vivien, Loucas and Flammarion, Nicolas},
  title     = {Gradient flow dynamics of shallow {ReLU} networks for square loss and orthogonal """
        """inputs},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {35},
  year      = {2022},
  note      = {arXiv:2206.00939}
}""",
    ),
    Paper(
        "C",
        "L. Chizat, F. Bach",
        "Implicit bias of gradient descent for wide two-layer neural networks trained with the "
        "logistic loss",
        2020,
        "classification by wide two-layer networks: which margin training maximises",
        """@inproceedings{C,
  author    = {Chizat, L{\\'e}na{\\"i}c and Bach, Francis},
  title     = {Implicit bias of gradient descent for wide two-layer neural networks trained with """
        """the logistic loss},
  booktitle = {Conference on Learning Theory},
  series    = {Proceedings of Machine Learning Research},
  volume    = {125},
  pages     = {1305--1338},
  year      = {2020}
}""",
    ),
)


def paper_of(id: str) -> Paper | None:
    """The paper that an id belongs to; None where it is another package's."""
    tag = id.partition("/")[0]
    return next((paper for paper in PAPERS if paper.tag == tag), None)
