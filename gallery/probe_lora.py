"""
A LoRA fine-tune of a small transformer
=======================================

A transformer learns to tell whether a word comes twice; then adapters of rank two teach it another
word, everything else frozen. The probe looks at the adapters alone: is the fine-tune a kernel
machine on the features of the trained network?
"""

import copy

import matplotlib.pyplot as plt
import torch

import biasflow as bf
from pictures import keep

WORDS, LENGTH, WIDTH = 12, 9, 32
torch.manual_seed(0)


# %%
# Tokens and a mask in; an object with `logits` out, as models of Hugging Face return it.
class Adapted(torch.nn.Module):
    """A frozen linear layer, and a product of two thin ones beside it."""

    def __init__(self, layer, rank=2):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.lora_A = torch.nn.Linear(layer.in_features, rank, bias=False)
        self.lora_B = torch.nn.Linear(rank, layer.out_features, bias=False)
        torch.nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.layer(x) + 4.0 * self.lora_B(self.lora_A(x))


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out, self.up = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, 2 * WIDTH)
        self.down = torch.nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x, mask):
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        scores = (q @ k.transpose(1, 2) / WIDTH**0.5).masked_fill(mask[:, None] == 0, -1e9)
        x = x + self.out(scores.softmax(-1) @ v)
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


class Transformer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(2))
        self.head = torch.nn.Linear(WIDTH, 2)

    def forward(self, input_ids, attention_mask):
        x = self.words(input_ids)
        for block in self.blocks:
            x = block(x, attention_mask)
        weights = attention_mask[:, :, None] / attention_mask.sum(1)[:, None, None]
        return type("Output", (), {"logits": self.head((x * weights).sum(1))})()


def texts(count, word):
    """Texts of different lengths, padded, and whether the word comes twice or more."""
    tokens = torch.randint(1, WORDS, (count, LENGTH))
    mask = (torch.arange(LENGTH) < torch.randint(6, LENGTH + 1, (count, 1))).long()
    tokens[torch.rand(count, LENGTH) < 0.15] = word
    tokens = tokens * mask
    labels = ((tokens == word).sum(1) >= 2).long()
    return {"input_ids": tokens, "attention_mask": mask}, labels


def train(network, batch, labels, steps, rate, keep_at):
    trained = [p for p in network.parameters() if p.requires_grad]
    descent = torch.optim.Adam(trained, lr=rate)
    kept = [copy.deepcopy(network.state_dict())]
    for step in range(1, steps + 1):
        descent.zero_grad()
        torch.nn.functional.cross_entropy(network(**batch).logits, labels).backward()
        descent.step()
        if step in keep_at:
            kept.append(copy.deepcopy(network.state_dict()))
    return kept


# %%
# Learn the first task with every weight, the second with adapters alone, at two rates.
network = Transformer()
train(network, *texts(400, word=3), steps=200, rate=3e-3, keep_at=())
for block in network.blocks:
    block.qkv, block.up = Adapted(block.qkv), Adapted(block.up)
for name, weight in network.named_parameters():
    weight.requires_grad_("lora" in name)
batch, labels = texts(200, word=7)
start = copy.deepcopy(network.state_dict())
times = (5, 20, 60, 150)
found = {}
for rate in (5e-6, 1e-3):
    network.load_state_dict(start)
    states = train(network, batch, labels, times[-1], rate, times)
    seen = {name: part[:100] for name, part in batch.items()}
    found[rate] = bf.probe(network, states, seen, labels[:100], times=[0, *times], keys=1)
    print(f"rate {rate:g}: {found[rate].verdict}, {found[rate].parameters} weights looked at")

# %%
# How much of what the adapters learned the network linearised at their start would have missed.
figure, axis = plt.subplots(figsize=(6.4, 4), layout="constrained")
for rate, probed in found.items():
    gaps = [one["linear_gap"] for one in probed.along]
    middle, errors = [g.value for g in gaps], [2 * g.error for g in gaps]
    axis.errorbar(times, middle, errors, marker="o", capsize=3, label=f"rate {rate:g}")
axis.axhspan(0, 0.1, color="tab:blue", alpha=0.1, lw=0)
axis.set(xlabel="steps of the fine-tune", ylabel="linear gap", xscale="log", ylim=(0, None))
axis.set_title("LoRA: a kernel machine below 0.1 (blue)")
axis.legend(frameon=False)
keep(figure)
