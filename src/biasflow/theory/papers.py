"""The four papers, what came since, and how to cite it all (`references.bib` has
the same entries). Which letters an id may begin with is said here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper by its tag, the letter before the slash of an id; later work shares one letter, and
    a paper of it says which `ids` are its own."""

    tag: str
    authors: str
    title: str
    year: int
    subject: str = ""
    bibtex: str = ""
    ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.tag}: {self.cited}" if self.authors else f"{self.tag}: {self.title}"

    @property
    def cited(self) -> str:
        return f"{self.authors}, {self.title} ({self.year})"


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
    Paper(
        "S",
        "",
        "Since then",
        0,
        "what later papers found, as far as it follows from the same machinery",
    ),
)
"""The parts of everything that is listed, in this order: the four papers, and later work."""
LETTERS = "".join(paper.tag for paper in PAPERS)
SINCE: tuple[Paper, ...] = (
    Paper(
        "Berthier2025",
        "R. Berthier",
        "Diagonal linear networks and the Lasso regularization path",
        2025,
        "averages of a diagonal network's flow follow the Lasso path",
        """@misc{Berthier2025,
  author = {Berthier, Rapha{\\"e}l},
  title  = {Diagonal linear networks and the {Lasso} regularization path},
  year   = {2025},
  note   = {arXiv:2509.18766}
}""",
        ("S/lasso", "S/lasso-path"),
    ),
    Paper(
        "PesmeFlammarion2023",
        "S. Pesme, N. Flammarion",
        "Saddle-to-saddle dynamics in diagonal linear networks",
        2023,
        "the path of a vanishing start jumps from saddle to saddle",
        """@inproceedings{PesmeFlammarion2023,
  author    = {Pesme, Scott and Flammarion, Nicolas},
  title     = {Saddle-to-saddle dynamics in diagonal linear networks},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {36},
  year      = {2023},
  note      = {arXiv:2304.00488}
}""",
        ("S/saddles",),
    ),
    Paper(
        "Zhao2026",
        "J. Zhao et al.",
        "Gradient flow dynamics and implicit bias of diagonal linear networks under infinitesimal "
        "initialization",
        2026,
        "the same path for any depth and shape of the start",
        """@inproceedings{Zhao2026,
  author    = {Zhao, Jiajie and Wang, Jianxing and Yang, Junjie and Bai, Zhiwei and """
        """Zhang, Yaoyu},
  title     = {Gradient flow dynamics and implicit bias of diagonal linear networks under """
        """infinitesimal initialization},
  booktitle = {International Conference on Machine Learning},
  year      = {2026},
  note      = {arXiv:2607.12332}
}""",
        ("S/saddles",),
    ),
    Paper(
        "Moroshko2020",
        "E. Moroshko et al.",
        "Implicit bias in deep linear classification: initialization scale vs training accuracy",
        2020,
        "kernel or rich on separable data: the scale of the start against how far one trains",
        """@inproceedings{Moroshko2020,
  author    = {Moroshko, Edward and Gunasekar, Suriya and Woodworth, Blake and Lee, Jason D. """
        """and Srebro, Nathan and Soudry, Daniel},
  title     = {Implicit bias in deep linear classification: initialization scale vs training """
        """accuracy},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {33},
  year      = {2020},
  note      = {arXiv:2007.06738}
}""",
        ("S/separable",),
    ),
    Paper(
        "LyuLi2020",
        "K. Lyu, J. Li",
        "Gradient descent maximizes the margin of homogeneous neural networks",
        2020,
        "the smooth margin of homogeneous networks never falls, and directions are KKT points",
        """@inproceedings{LyuLi2020,
  author    = {Lyu, Kaifeng and Li, Jian},
  title     = {Gradient descent maximizes the margin of homogeneous neural networks},
  booktitle = {International Conference on Learning Representations},
  year      = {2020},
  note      = {arXiv:1906.05890}
}""",
        ("S/separable", "S/separable-deep"),
    ),
    Paper(
        "Pesme2024",
        "S. Pesme, R.-A. Dragomir, N. Flammarion",
        "Implicit bias of mirror flow on separable data",
        2024,
        "the direction of mirror flow is that of the largest margin of the horizon function",
        """@inproceedings{Pesme2024,
  author    = {Pesme, Scott and Dragomir, Radu-Alexandru and Flammarion, Nicolas},
  title     = {Implicit bias of mirror flow on separable data},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {37},
  year      = {2024},
  note      = {arXiv:2406.12763}
}""",
        ("S/separable", "S/separable-deep"),
    ),
    Paper(
        "Marcotte2023",
        "S. Marcotte, R. Gribonval, G. Peyré",
        "Abide by the law and follow the flow: conservation laws for gradient flows",
        2023,
        "how many quantities training conserves whatever the data, and which",
        """@inproceedings{Marcotte2023,
  author    = {Marcotte, Sibylle and Gribonval, R{\\'e}mi and Peyr{\\'e}, Gabriel},
  title     = {Abide by the law and follow the flow: conservation laws for gradient flows},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {36},
  year      = {2023},
  note      = {arXiv:2307.00144}
}""",
        ("S/laws",),
    ),
    Paper(
        "Marcotte2024",
        "S. Marcotte, R. Gribonval, G. Peyré",
        "Keep the momentum: conservation laws beyond Euclidean gradient flows",
        2024,
        "what is left of conservation laws under momentum",
        """@inproceedings{Marcotte2024,
  author    = {Marcotte, Sibylle and Gribonval, R{\\'e}mi and Peyr{\\'e}, Gabriel},
  title     = {Keep the momentum: conservation laws beyond {Euclidean} gradient flows},
  booktitle = {International Conference on Machine Learning},
  year      = {2024},
  note      = {arXiv:2405.12888}
}""",
        ("S/laws-decay",),
    ),
    Paper(
        "Marcotte2025",
        "S. Marcotte, R. Gribonval, G. Peyré",
        "Transformative or conservative? Conservation laws for ResNets and Transformers",
        2025,
        "conservation laws under weight decay and finite steps",
        """@inproceedings{Marcotte2025,
  author    = {Marcotte, Sibylle and Gribonval, R{\\'e}mi and Peyr{\\'e}, Gabriel},
  title     = {Transformative or conservative? {Conservation} laws for {ResNets} and """
        """{Transformers}},
  booktitle = {International Conference on Machine Learning},
  year      = {2025},
  note      = {arXiv:2506.06194}
}""",
        ("S/laws", "S/laws-decay"),
    ),
    Paper(
        "Savarese2019",
        "P. Savarese, I. Evron, D. Soudry, N. Srebro",
        "How do infinite width bounded norm networks look in function space?",
        2019,
        "the norm of two-layer ReLU networks on a line, biases free",
        """@inproceedings{Savarese2019,
  author    = {Savarese, Pedro and Evron, Itay and Soudry, Daniel and Srebro, Nathan},
  title     = {How do infinite width bounded norm networks look in function space?},
  booktitle = {Conference on Learning Theory},
  series    = {Proceedings of Machine Learning Research},
  volume    = {99},
  pages     = {2667--2690},
  year      = {2019}
}""",
        ("S/line",),
    ),
    Paper(
        "BoursierFlammarion2023",
        "E. Boursier, N. Flammarion",
        "Penalising the biases in norm regularisation enforces sparsity",
        2023,
        "the same norm with penalised biases, and its sparse interpolants",
        """@inproceedings{BoursierFlammarion2023,
  author    = {Boursier, Etienne and Flammarion, Nicolas},
  title     = {Penalising the biases in norm regularisation enforces sparsity},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {36},
  year      = {2023},
  note      = {arXiv:2303.01353}
}""",
        ("S/line",),
    ),
    Paper(
        "LyuLi2020",
        "K. Lyu, J. Li",
        "Gradient descent maximizes the margin of homogeneous neural networks",
        2020,
        "directions of gradient flow tend to KKT points of the margin problem",
        """@inproceedings{LyuLi2020,
  author    = {Lyu, Kaifeng and Li, Jian},
  title     = {Gradient descent maximizes the margin of homogeneous neural networks},
  booktitle = {International Conference on Learning Representations},
  year      = {2020},
  note      = {arXiv:1906.05890, 2019}
}""",
        ("S/certify",),
    ),
    Paper(
        "JiTelgarsky2020",
        "Z. Ji, M. Telgarsky",
        "Directional convergence and alignment in deep learning",
        2020,
        "the direction of gradient flow converges",
        """@inproceedings{JiTelgarsky2020,
  author    = {Ji, Ziwei and Telgarsky, Matus},
  title     = {Directional convergence and alignment in deep learning},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {33},
  year      = {2020},
  note      = {arXiv:2006.06657}
}""",
        ("S/certify",),
    ),
    Paper(
        "VardiShamirSrebro2022",
        "G. Vardi, O. Shamir, N. Srebro",
        "On margin maximization in linear and ReLU networks",
        2022,
        "KKT points of the margin problem need not be optimal, not even locally",
        """@inproceedings{VardiShamirSrebro2022,
  author    = {Vardi, Gal and Shamir, Ohad and Srebro, Nathan},
  title     = {On margin maximization in linear and {ReLU} networks},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {35},
  year      = {2022},
  note      = {arXiv:2110.02732}
}""",
        ("S/certify",),
    ),
    Paper(
        "Maennel2018",
        "H. Maennel, O. Bousquet, S. Gelly",
        "Gradient descent quantizes ReLU network features",
        2018,
        "small neurons turn to a few directions that the data decide",
        """@misc{Maennel2018,
  author = {Maennel, Hartmut and Bousquet, Olivier and Gelly, Sylvain},
  title  = {Gradient descent quantizes {ReLU} network features},
  year   = {2018},
  note   = {arXiv:1803.08367}
}""",
        ("S/extremal", "S/relu-saddles"),
    ),
    Paper(
        "BoursierFlammarion2024",
        "E. Boursier, N. Flammarion",
        "Early alignment in two-layer networks training is a two-edged sword",
        2024,
        "extremal vectors of any data, and training that ends at least squares",
        """@misc{BoursierFlammarion2024,
  author = {Boursier, Etienne and Flammarion, Nicolas},
  title  = {Early alignment in two-layer networks training is a two-edged sword},
  year   = {2024},
  note   = {arXiv:2401.10791}
}""",
        ("S/extremal", "S/relu-saddles", "S/spurious"),
    ),
    Paper(
        "Li2022",
        "Z. Li, T. Wang, J. D. Lee, S. Arora",
        "Implicit bias of gradient descent on reparametrized models: on equivalence to mirror "
        "descent",
        2022,
        "parametrisations with commuting gradients follow mirror flow",
        """@inproceedings{Li2022,
  author    = {Li, Zhiyuan and Wang, Tianhao and Lee, Jason D. and Arora, Sanjeev},
  title     = {Implicit bias of gradient descent on reparametrized models: on equivalence to """
        """mirror descent},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {35},
  year      = {2022},
  note      = {arXiv:2207.04036}
}""",
        ("S/parametrisation",),
    ),
)
"""The papers of S, by the keys of their citations."""


def papers_of(id: str) -> tuple[Paper, ...]:
    """The papers that an id comes from; none where it is another package's."""
    tag = id.partition("/")[0]
    own = tuple(paper for paper in SINCE if id in paper.ids)
    return own or tuple(paper for paper in PAPERS if paper.tag == tag and paper.authors)
