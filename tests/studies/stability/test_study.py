"""Two parts of the study `stability`, run from end to end."""

import separatrix as sx
from separatrix.studies import find_study


def test_two_parts_from_end_to_end():
    study = find_study("stability")
    small = {
        "parts": "flat,geometry",
        "flat.views": "2",
        "flat.patch": "4",
        "flat.samples": "8",
        "flat.width": "24",
        "flat.steps": "400",
        "flat.seeds": "3",
        "times": "8",
        "flat.times": "8",
        "test": "64",
        "geometry.images": "80",
        "geometry.points": "30",
        "geometry.directions": "20",
        "geometry.seeds": "3",
        "images.source": "embedded-photographs",
    }
    settings = study.settings("quick", 1, small)
    assert {name: len(sweep) for name, sweep in study.sweeps(settings).items()} == {"flat": 3}
    with sx.Lab(workers=0) as lab:
        outcome = study.conclude(lab, settings)
    verdicts = {finding.claim.id: finding.verdict for finding in outcome.findings}
    assert set(verdicts) == {claim.id for claim in study.claims}
    assert verdicts["liang.certificate"] == "supported"  # a theorem
    assert verdicts["liang.receptive-field-decides"] == "not measured"  # its part was not run
    names = {figure.name for figure in outcome.figures}
    assert {
        "flat-sharpness",
        "flat",
        "activation",
        "patch-elbow",
        "patch-projected",
        "patch-whitened",
    } <= names
    (line,) = [
        series
        for figure in outcome.figures
        if figure.name == "flat-sharpness"
        for series in figure.series
        if series.label == "2/η"
    ]
    assert line.y == (10.0, 10.0)
    assert any(note.code == "no-cifar10" for note in outcome.notes)


def test_a_rate_at_which_everything_diverges_is_one_sentence():
    from separatrix.studies.stability.settings import StabilitySettings
    from separatrix.studies.stability.study import notes
    from separatrix.studies.stability.trials import StabilityCell

    rows = {StabilityCell("sphere", "CNN", 30, 140, 5): [{"status": "diverged"}] * 3}
    (note,) = [
        n for n in notes(StabilitySettings(rate=0.9), rows, "cifar10") if n.code == "diverged"
    ]
    assert "3 of 3 runs of sphere CNN" in note.message
    assert "η = 0.9 is too large for this network, take a smaller `rate`" in note.message
