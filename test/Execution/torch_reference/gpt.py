#!/usr/bin/env python3
"""Writes gpt.json: loss and gradients of a 2-layer GPT by PyTorch in float64, for gpt.test.

    /usr/bin/python3 gpt.py > gpt.json       (Debian's python3-torch; made with 1.13.1)

The model is examples/gpt/gpt.mesh with torch's own layer_norm, gelu, softmax and cross_entropy.
Dims are in the order of the parameter's declaration; `layers` comes first. No dropout. The loss is the sum over all tokens.
"""
import json
import math
import sys

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
SIZES = dict(batch=3, seq=5, vocab=7, embed=6, heads=2, head=4, ff=9, layers=2)
BLOCK = {
    "ln1.gain": ["embed"], "ln1.offset": ["embed"],
    **{"attn." + name: ["embed", "heads", "head"] for name in ("wq", "wk", "wv")},
    **{"attn." + name: ["heads", "head"] for name in ("bq", "bk", "bv")},
    "attn.wo": ["heads", "head", "embed"], "attn.bo": ["embed"],
    "ln2.gain": ["embed"], "ln2.offset": ["embed"],
    "mlp.up.w": ["embed", "ff"], "mlp.up.b": ["ff"], "mlp.down.w": ["ff", "embed"], "mlp.down.b": ["embed"],
}
PARAMS = {
    "gpt.wte": ["vocab", "embed"], "gpt.wpe": ["seq", "embed"],
    **{"gpt.block." + name: ["layers"] + dims for name, dims in BLOCK.items()},
    "gpt.ln_f.gain": ["embed"], "gpt.ln_f.offset": ["embed"],
}


def make_parameters():
    """Values with three decimals, so that the file is short; none of them special (gains not 1, offsets not 0)."""
    generator = torch.Generator().manual_seed(1)
    params = {}
    for name, dims in PARAMS.items():
        value = torch.randn([SIZES[d] for d in dims], generator=generator) * 0.3
        if name.endswith("gain"):
            value = value + 1
        params[name] = torch.round(value * 1000).div(1000).requires_grad_()
    return params


def forward(p, tokens):
    S, E = SIZES["seq"], SIZES["embed"]
    x = p["gpt.wte"][tokens] + p["gpt.wpe"]
    causal = torch.ones(S, S, dtype=torch.bool).tril()
    for layer in range(SIZES["layers"]):
        w = {name: p["gpt.block." + name][layer] for name in BLOCK}
        h = F.layer_norm(x, (E,), w["ln1.gain"], w["ln1.offset"], eps=1e-5)
        q, k, v = (torch.einsum("bse,ehd->bhsd", h, w["attn.w" + n]) + w["attn.b" + n].unsqueeze(1) for n in "qkv")
        scores = q @ k.transpose(-1, -2) / math.sqrt(SIZES["head"])
        weights = scores.masked_fill(~causal, -math.inf).softmax(-1)
        x = x + torch.einsum("bhsd,hde->bse", weights @ v, w["attn.wo"]) + w["attn.bo"]
        h = F.layer_norm(x, (E,), w["ln2.gain"], w["ln2.offset"], eps=1e-5)
        h = F.gelu(h @ w["mlp.up.w"] + w["mlp.up.b"], approximate="tanh")
        x = x + h @ w["mlp.down.w"] + w["mlp.down.b"]
    return F.layer_norm(x, (E,), p["gpt.ln_f.gain"], p["gpt.ln_f.offset"], eps=1e-5) @ p["gpt.wte"].T


def tensor(value, dims, digits):
    return {"dims": dims, "shape": list(value.shape), "data": [float(f"{x:.{digits}g}") for x in value.flatten().tolist()]}


def main():
    params = make_parameters()
    generator = torch.Generator().manual_seed(2)
    tokens, targets = (torch.randint(SIZES["vocab"], (SIZES["batch"], SIZES["seq"]), generator=generator) for _ in range(2))
    loss = F.cross_entropy(forward(params, tokens).flatten(0, 1), targets.flatten(), reduction="sum")
    loss.backward()
    arguments = {name: tensor(value.detach(), PARAMS[name], 17) for name, value in params.items()}
    for name, value in (("tokens", tokens), ("targets", targets)):
        arguments[name] = {"dims": ["batch", "seq"], "shape": list(value.shape), "data": value.flatten().tolist()}
    results = {"loss": {"dims": [], "shape": [], "data": [loss.item()]}}
    results.update({name: tensor(value.grad, PARAMS[name], 12) for name, value in params.items()})
    json.dump({"arguments": arguments, "results": results}, sys.stdout, indent=None, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
