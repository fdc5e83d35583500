"""The claims of the study `patterns`; those of Lemma 6 belong to the study `pattern-readout`."""

from separatrix.studies.claims import Claim

_RECIPE = (
    "W uniform in {±1/k}, b = 1/k - 1 fixed, u = 0, |σ| ≤ c, hinge loss, population gradient, "
    "η = √n/(√q·T), q > 2^(k+3) ln(2^k/δ)"
)
_START = "u = 0 at the start, |σ| ≤ c, |σ'| ≤ 1, hinge loss, gradient descent on both layers"
_HARD = (
    "label = parity of k bits, uniform inputs, weights invariant under permutations, |u_i| ≤ 1, "
    "|h| ≤ 1, |σ'| ≤ 1"
)
_LEARN = "k = ⌈log2 n⌉; the theorems speak of Theorem 4's recipe and of gradients at the start"


def _claim(name: str, statement: str, citation: str, conditions: str) -> Claim:
    return Claim(f"malach.{name}", statement, citation, conditions)


THEOREM4 = _claim(
    "theorem4.holds",
    "Gradient descent on a convolutional network has an average loss of at most 2cn²k²2^k/q + "
    "2(2^k k)²/√(qn) + c²n^1.5 √q/T.",
    "Theorem 4",
    _RECIPE,
)
VACUOUS = _claim(
    "theorem4.vacuous-beyond",
    "At k = ⌈log2 n⌉ the bound of Theorem 4 is below 1 only for small n: beyond them every "
    "network that can be trained is too small.",
    "Theorem 4; a property of the bound that the paper does not discuss",
    "the least work q·T that makes the bound smaller than 1, against a stated number of operations",
)
LEMMA8_READOUT = _claim(
    "lemma8.readout", "Each window's readout stays short: ||u_j(t)|| ≤ cηt√q.", "Lemma 8", _START
)
LEMMA8_WEIGHTS = _claim(
    "lemma8.weights",
    "The first layer hardly moves: ||W(t) - W(0)|| ≤ cη²t²n√(qk).",
    "Lemma 8",
    _START,
)
LEMMA9 = _claim(
    "lemma9",
    "Lemma 6's readout stays good while the first layer moves: |L(u*, W(t)) - L(u*, W(0))| ≤ "
    "cη²t²nk√q·Σ||u*_j||.",
    "Lemma 9",
    _START,
)
THEOREM10 = _claim(
    "theorem10",
    "The regret of the readout is bounded: mean f_t(u_t) ≤ mean f_t(u*) + ||u*||²/(2ηT) + "
    "||u_1||·mean||g_t|| + η·mean||g_t||².",
    "Theorem 10",
    "f_t convex in u, gradient descent with a fixed rate",
)
FIRST_LAYER = _claim(
    "theorem12.first-layer",
    "A fully connected network's first-layer gradient at the start has E||∂L/∂W||² ≤ "
    "q·n·min{1/C(n-1,k), 1/C(n-1,k-1)}.",
    "Theorem 12",
    _HARD,
)
READOUT = _claim(
    "theorem12.readout",
    "Its readout's gradient has E||∂L/∂u||² ≤ c²q/C(n,k).",
    "Theorem 12",
    f"{_HARD}, |σ| ≤ c (so not for ReLU)",
)
IDENTITY = _claim(
    "theorem12.identity",
    "Averaged over all supports, a unit's squared gradient is u²·[A(n-k+1) + B(k+1)]/C(n,k), A "
    "and B the Fourier mass of σ' at degrees k-1 and k+1; the readout's is (mass of σ at degree "
    "k)/C(n,k).",
    "sharpens Theorem 12 (ours)",
    "any weights, bias and activation; uniform inputs",
)
SUPERPOLYNOMIAL = _claim(
    "theorem12.superpolynomial",
    "At k = log2 n the fully connected network's gradient falls faster than any power of n, the "
    "convolutional one's does not.",
    "Theorem 12 with k = log2 n",
    _HARD,
)
STEPS_GROW = _claim(
    "separation.steps-grow",
    "The number of steps that a fully connected network needs, over the convolutional one's, "
    "grows with n.",
    "Theorems 4 and 12, Section 4",
    _LEARN,
)
LOCAL = _claim(
    "lcn-as-good-as-cnn",
    "A locally connected network learns k-patterns as well as a convolutional one: locality "
    "matters, not weight sharing.",
    "Section 3.1",
    _LEARN,
)
CNN_LOSES = _claim(
    "permutation.cnn-loses",
    "When the order of the bits is unknown, the convolutional network loses its advantage: it "
    "stays at chance.",
    "Section 5",
    "label = parity of k bits after a fixed unknown permutation",
)
FCN_INDIFFERENT = _claim(
    "permutation.fcn-indifferent",
    "A fully connected network does not notice a permutation of the bits.",
    "Theorem 12's symmetry",
    "weights whose distribution is invariant under permutations of the coordinates",
)
SEARCH_GAP = _claim(
    "junta.search-gap",
    "With unknown order, search over n-k+1 windows becomes search over C(n,k) sets of bits, and "
    "the gap widens with n.",
    "Section 5",
    "noise-free samples, enough of them that one set of bits explains them",
)

CLAIMS = (
    THEOREM4,
    VACUOUS,
    LEMMA8_READOUT,
    LEMMA8_WEIGHTS,
    LEMMA9,
    THEOREM10,
    FIRST_LAYER,
    READOUT,
    IDENTITY,
    SUPERPOLYNOMIAL,
    STEPS_GROW,
    LOCAL,
    CNN_LOSES,
    FCN_INDIFFERENT,
    SEARCH_GAP,
)
