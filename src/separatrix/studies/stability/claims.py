"""The sentences that the stability study tests."""

from separatrix.studies.claims import Claim

EDGE = (
    "constant-step gradient descent on MSE; the network is at the edge of stability (sharpness "
    "about 2/η)"
)
NOTEBOOKS = "authors' notebooks and abstract; the theorem texts were not at hand"

GAP_PATCH = Claim(
    "liang.gap-follows-patch",
    "On the sphere, the generalization gap of a shared local network follows its receptive field "
    "m and not the dimension d.",
    f"Liang et al., abstract and experiment 1 ({NOTEBOOKS})",
    f"{EDGE}; m small against d",
)
GAP_FULL = Claim(
    "liang.fcn-gap-grows-with-d",
    "On the sphere, the generalization gap of a fully connected network grows with the dimension "
    "d.",
    f"Liang et al., experiment 1 ({NOTEBOOKS})",
    EDGE,
)
REACHES = Claim(
    "liang.sharpness-reaches-edge",
    "Gradient descent with a constant step size η ends at the edge of stability: the sharpness "
    "settles about 2/η.",
    "Liang et al., experiments 1-3; Neural Shattering (arXiv 2506.20779)",
    "constant step, full batch, no clipping, enough steps",
)
FLAT = Claim(
    "liang.flat-interpolation",
    "Without structure in its patches (each uniform on the sphere), a shared local network "
    "interpolates noise while it is flat.",
    f"Liang et al., experiment 2 ({NOTEBOOKS})",
    f"{EDGE}; patches independent and uniform on the sphere",
)
MIXING = Claim(
    "liang.mixing-views-monotone",
    "The more random views mix the coordinates of a repeated point, the less noise a shared "
    "local network fits.",
    f"Liang et al., experiment 3 ({NOTEBOOKS})",
    EDGE,
)
VOCABULARY = Claim(
    "liang.sharing-recovers-vocabulary",
    "Sharing, not locality alone, recovers a vocabulary of patches: with as many parameters, the "
    "shared network's error is below half of the unshared and of the fully connected one's.",
    f"Liang et al., experiment 4 ({NOTEBOOKS}; the label is a reconstruction)",
    "equal numbers of parameters, samples and steps",
)
IMAGES = Claim(
    "liang.cifar.shared-lower-excess",
    "On CIFAR-10 with a local teacher, the shared network's excess risk is below the fully "
    "connected one's, and below that of a constant.",
    f"Liang et al., experiment 5 ({NOTEBOOKS}; the comparison with a constant is ours)",
    "CIFAR-10, 32 x 32, n = 1024, K = 1024, σ = 1, η = 0.2",
)
GEOMETRY = Claim(
    "liang.geometry.locality-decides",
    "Locality, not the convolution's grid, makes the patches of natural images low-dimensional "
    "and central.",
    f"Liang et al., experiment 6 ({NOTEBOOKS})",
    "4 x 4 patches of CIFAR-10",
)
CERTIFICATE = Claim(
    "liang.certificate.holds",
    "The weighted path norm of every network is at most λ/2 - ½ + (R+1)√(2L).",
    "Neural Shattering (arXiv 2506.20779), Theorem 3.2; for shared networks over their patches",
    "two-layer ReLU networks with an offset; L = ½·MSE, λ its sharpness",
)
RATES = Claim(
    "liang.rates",
    "The gap of a shared local network at the edge falls at least as fast as n^{-(d-m)/(2(3d-m))}.",
    "Liang et al., abstract (n^{-1/6+O(m/d)}); the exponent is a [reconstruction]",
    f"{EDGE}; an upper bound up to constants and logarithms, for n beyond any fixed size",
)

ALL = (GAP_PATCH, GAP_FULL, REACHES, FLAT, MIXING, VOCABULARY, IMAGES, GEOMETRY, CERTIFICATE, RATES)
