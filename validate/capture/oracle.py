"""Compares a kernel's output with unfused attention and its gradients in double precision.

Whole heads are compared: the first of the first sequence and the last of the last one. Each element has its own
tolerance, from the rounding of the number format and the size of what was added up (as validate/correctness.cpp does).
"""
import math

import torch

SINGLE = 2.0 ** -20  # an fp32 dot product of a few thousand terms
UNIT = {torch.float16: 2.0 ** -11, torch.bfloat16: 2.0 ** -8}
SUBNORMAL = {torch.float16: 2.0 ** -25, torch.bfloat16: 0.0}

class Head:
    """One head in double precision: P, and the relative error that a correct kernel may make in it."""

    def __init__(self, inputs, batch, head):
        group = inputs.q.shape[1] // inputs.k.shape[1]
        self.batch, self.head = batch, head
        self.unit, self.subnormal = UNIT[inputs.dtype], SUBNORMAL[inputs.dtype]
        self.q, self.k, self.v = (t[batch, h].double() for t, h in ((inputs.q, head), (inputs.k, head // group),
                                                                     (inputs.v, head // group)))
        self.scale = 1 / math.sqrt(self.q.shape[1])
        rows, keys = self.q.shape[0], self.k.shape[0]
        hidden = torch.zeros(rows, keys, dtype=torch.bool, device="cuda")
        if inputs.causal:
            hidden = torch.ones_like(hidden).triu(keys - rows + 1)
        scores = (self.q @ self.k.T * self.scale).masked_fill(hidden, -math.inf)
        self.p = torch.softmax(scores, 1).nan_to_num(0.0)
        dot = (self.q.abs() @ self.k.abs().T * self.scale).masked_fill(hidden, 0.0)
        self.score_error = SINGLE * (1 + dot.amax(1, keepdim=True)) + self.subnormal
        self.p_error = torch.expm1(2 * self.score_error) + self.unit + SINGLE  # relative; a column

def heads_of(inputs):
    batch, heads = inputs.q.shape[:2]
    return [Head(inputs, b, h) for b, h in sorted({(0, 0), (batch - 1, heads - 1)})]

def worst_of(pairs):
    """pairs: (got, expected, allowed). Returns the element with the largest ratio of error to tolerance."""
    worst = {"ratio": -1.0, "max_error": 0.0, "tolerance": 1.0, "checked_elements": 0}
    for got, expected, allowed in pairs:
        error = (got.double() - expected).abs()
        ratio = (error / allowed).nan_to_num(math.inf, posinf=math.inf)
        at = int(ratio.argmax())
        worst["checked_elements"] += error.numel()
        if float(ratio.flatten()[at]) > worst["ratio"]:
            largest = min(float(error.flatten()[at].nan_to_num(1e300)), 1e300)  # JSON has no NaN
            worst.update(ratio=float(ratio.flatten()[at]), max_error=largest, tolerance=float(allowed.flatten()[at]))
    worst["passed"] = worst.pop("ratio") <= 1
    return worst

def forward(inputs, outputs):
    pairs = []
    for x in heads_of(inputs):
        expected = x.p @ x.v
        allowed = ((x.unit + SINGLE) * expected.abs() + x.p_error * (x.p @ x.v.abs()) +
                   x.subnormal * x.k.shape[0] * x.v.abs().max() + 2.0 ** -25)
        pairs.append((outputs[0][x.batch, x.head], expected, allowed))
    result = worst_of(pairs)
    result["passed"] = result["passed"] and bool(torch.isfinite(outputs[0]).all())
    return result

def backward(inputs, outputs):
    """Requires one KV head per query head, so that dK and dV belong to one head."""
    pairs = []
    for x in heads_of(inputs):
        d_o, o = inputs.d_o[x.batch, x.head].double(), inputs.o[x.batch, x.head].double()
        d_p = d_o @ x.v.T
        row_sum = (d_o * (x.p @ x.v)).sum(1, keepdim=True)
        d_s = x.p * (d_p - row_sum)
        # Rounding in P and dS, in the sums of dP, and in O, which the row sums take rounded.
        row_sum_size = (d_o.abs() * (x.p @ x.v.abs())).sum(1, keepdim=True)
        slip = x.p * (SINGLE * (d_o.abs() @ x.v.abs().T) + (x.unit + x.p_error) * row_sum_size)
        d_s_error = (x.p_error + x.unit) * d_s.abs() + slip
        absolute = x.subnormal * x.q.shape[0]
        d_v = x.p.T @ d_o
        allowed = x.unit * d_v.abs() + (x.p_error * x.p).T @ d_o.abs() + absolute * d_o.abs().max() + 2.0 ** -25
        pairs.append((outputs[2][x.batch, x.head], d_v, allowed))
        for got, left, right in ((outputs[0], d_s, x.k), (outputs[1], d_s.T, x.q)):
            error = d_s_error if left is d_s else d_s_error.T
            expected = left @ right * x.scale
            allowed = (x.unit * expected.abs() + error @ right.abs() * x.scale + absolute * right.abs().max() +
                       2.0 ** -25)
            pairs.append((got[x.batch, x.head], expected, allowed))
    result = worst_of(pairs)
    result["passed"] = result["passed"] and all(bool(torch.isfinite(t).all()) for t in outputs[:3])
    return result
