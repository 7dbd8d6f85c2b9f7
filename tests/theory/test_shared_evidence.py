"""Claims judged on common evidence: the verdicts of each alone, and a flow followed once."""

from biasflow import theory
from biasflow.theory import evidence as evidence_module
from biasflow.theory.verification import shared_evidence

IDS = ("R/eq2", "R/eq3", "R/lem3.6")


def test_verdicts_are_those_of_each_alone(monkeypatch):
    followed = []
    follow = evidence_module.witness_flow

    def counted(problem, **options):
        followed.append(problem)
        return follow(problem, **options)

    monkeypatch.setattr(evidence_module, "witness_flow", counted)
    alone = [theory.verify(id, key=1) for id in IDS]
    before = len(followed)
    with shared_evidence():
        together = [theory.verify(id, key=1) for id in IDS]
        other = theory.verify(IDS[0], key=2)
    assert [verdict.checks for verdict in together] == [verdict.checks for verdict in alone]
    assert other.checks != together[0].checks
    assert before == len(IDS) and len(followed) == before + 2
    theory.verify(IDS[0], key=1)
    assert len(followed) == before + 3  # nothing is shared outside
