"""The claims of the study `digits`."""

from separatrix.studies.claims import Claim

_COMMON = (
    "MNIST digits at 24x8, one hidden layer of 1024 ReLU units, kernels 24x24 (three digits), "
    "AdaDelta, 30 epochs, digits reshuffled into sequences every epoch"
)
_CENTRE = f"label = parity of the sum of the 3 central digits; {_COMMON}"
_ENDS = f"label = parity of the sum of the first, middle and last digit; {_COMMON}"

LOCAL_HOLD = Claim(
    "malach.digits.local-networks-hold",
    "On the parity of three neighbouring digits, the CNN and the LCN perform well whatever the "
    "length of the sequence.",
    "Figure 3, Section 6",
    _CENTRE,
)
FCN_CHANCE = Claim(
    "malach.digits.fcn-to-chance-by-19",
    "There, the fully connected network degrades with the length and is at chance level when n = "
    "19.",
    "Figure 3, Section 6",
    _CENTRE,
)
LCN_AHEAD = Claim(
    "malach.digits.lcn-ahead-of-cnn",
    "There, the LCN has an advantage over the CNN.",
    "Figure 3, Section 6",
    _CENTRE,
)
ENDS_FCN = Claim(
    "malach.digits.ends.fcn-wins-small-n",
    "On the parity of three digits that are far apart, the fully connected network is better "
    "than the CNN and the LCN for small n.",
    "Figure 4, Section 6",
    _ENDS,
)
ENDS_FAIL = Claim(
    "malach.digits.ends.all-fail-large-n",
    "There, all three networks perform poorly for large n.",
    "Figure 4, Section 6",
    _ENDS,
)

CLAIMS = (LOCAL_HOLD, FCN_CHANCE, LCN_AHEAD, ENDS_FCN, ENDS_FAIL)
