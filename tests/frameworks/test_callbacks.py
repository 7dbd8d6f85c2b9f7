"""The probe during training: the training stays the same to the last bit, its cost is bounded, and
what it recorded is what a probe of saved checkpoints finds."""

import copy
import random
import time

import numpy as np
import pytest

import biasflow as bf

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.frameworks

RNG = np.random.default_rng(0)
X = torch.tensor(RNG.standard_normal((60, 6)), dtype=torch.float32)
Y = (X[:, 0] * X[:, 1] > 0).long()


def network():
    """With batch normalisation and dropout, one of whose modules is in evaluation mode."""
    torch.manual_seed(0)
    nn = torch.nn
    layers = [nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 16)]
    net = nn.Sequential(*layers, nn.Dropout(0.5), nn.ReLU(), nn.Linear(16, 2))
    net[5].eval()
    return net


def trained(net, call=None, steps=40):
    """Random batches, dropout and noise: every generator is drawn from."""
    torch.manual_seed(1)
    np.random.seed(1)
    random.seed(1)
    descent = torch.optim.Adam(net.parameters(), 1e-2)
    kept = [copy.deepcopy(net.state_dict())]
    for step in range(1, steps + 1):
        rows = torch.randperm(60)[:20]
        noise = 0.01 * float(np.random.randn()) + 0.01 * random.random()
        descent.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(X[rows]) + noise, Y[rows])
        loss.backward()
        descent.step()
        if call is not None:
            before = [p.grad.clone() for p in net.parameters()]
            call(step, loss)
            assert all(
                torch.equal(a, p.grad) for a, p in zip(before, net.parameters(), strict=True)
            )
        kept.append(copy.deepcopy(net.state_dict()))
    return kept


@pytest.mark.parametrize("live", [False, True])
def test_the_training_is_the_same_bit_for_bit(live):
    plain, net = network(), network()
    trained(plain)
    call = bf.regime.ProbeCallback(
        net, X[:20], Y[:20], live=live, time_s=5.0, share=1e6, keys=1, layers=live
    )
    trained(net, call)
    for (name, a), b in zip(plain.state_dict().items(), net.state_dict().values(), strict=True):
        assert torch.equal(a, b), name
    assert [module.training for module in net] == [True] * 5 + [False] + [True] * 2
    assert bool(call.live) == live
    assert not any(module._forward_hooks for module in net.modules())


def test_what_it_recorded_is_what_a_probe_of_the_checkpoints_finds(tmp_path):
    net = network()
    call = bf.regime.ProbeCallback(net, X[:20], Y[:20], keys=1)
    kept = trained(net, call)
    assert call.times == [0, 1, 2, 4, 8, 15, 27] and np.all(np.isfinite(call.losses[1:]))
    times = [*call.times, 40]
    net.eval()
    expected = bf.probe(
        net, [kept[t] for t in times], X[:20], Y[:20], keys=1, layers=True, buffers="last"
    )
    found = call.found
    assert list(found.times) == times and found.final == expected.final
    call.plot().savefig(tmp_path / "story.png")
    assert len(call.plot().axes) >= 4


def test_time_and_memory_are_bounded():
    net = network()
    size = sum(t.numel() * t.element_size() for t in net.state_dict().values())
    logged = []
    call = bf.regime.ProbeCallback(
        net,
        X,
        Y,
        log=lambda numbers, step: logged.append((step, numbers["linear_gap"])),
        share=0.2,
        time_s=0.5,
        memory_b=5.5 * size,
        per_decade=8,
        layers=False,
    )
    trained(net, call, steps=30)
    for step in range(31, 400):
        time.sleep(0.005)
        call(step)
    spent = call.spent
    assert len(call.times) <= 5 and call.times[0] == 0 and call.times == sorted(call.times)
    assert call.times[-1] > 100  # of copies that are dropped the last is none
    assert spent.calls == 399 and spent.skipped > 0 and spent.measured == len(logged)
    # one measurement whose cost was not known, and a share of the rest
    longest = max(call._took, 0.5)
    assert spent.measuring <= 0.2 * spent.elapsed + 2 * longest
    assert call.found.verdict in ("kernel", "between", "rich")


def test_a_probe_that_fails_does_not_end_the_training():
    net = network()
    options = {"live": True, "share": 1e6, "keys": 1, "layers": False}
    call = bf.regime.ProbeCallback(net, X[:20], Y[:20], **options)
    call(1)
    with torch.no_grad():
        net[0].weight[0, 0] = float("nan")
    with pytest.warns(RuntimeWarning, match="step 2 was not measured") as told:
        call(2)
        call(4)
    assert len(told) == 1 and [step for step, _ in call.failures] == [2, 4]
    assert "finite" in call.failures[0][1] and call.times == [0, 1, 2, 4]
    assert [step for step, _ in call.live] == [1] and call.spent.skipped == 2
    assert [module.training for module in net] == [True] * 5 + [False] + [True] * 2


def test_the_callback_of_lightning_is_called_by_its_names():
    net = network()
    call = bf.regime.ProbeCallback(net, X[:20], Y[:20])
    for step in (1, 2, 3):
        trainer = type("Trainer", (), {"global_step": step})()
        call.on_train_batch_end(trainer, net, {"loss": torch.tensor(0.5)}, None, step)
    assert call.times == [0, 1, 2] and call.losses[1:] == [0.5, 0.5]
    lightning = pytest.importorskip("lightning.pytorch")
    assert isinstance(call.for_lightning(), lightning.Callback)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras's own
def test_keras_is_followed_through_fit():
    import os

    os.environ.setdefault("KERAS_BACKEND", "jax")
    keras = pytest.importorskip("keras")

    def fitted(probed):
        keras.utils.set_random_seed(0)
        layers = [keras.layers.Dense(12, "relu"), keras.layers.Dropout(0.2), keras.layers.Dense(2)]
        model = keras.Sequential([keras.Input((6,)), *layers])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(1e-2), loss)
        call = bf.regime.ProbeCallback(model, X[:20].numpy(), Y[:20].numpy(), keys=1)
        callbacks = [call.for_keras()] if probed else []
        model.fit(X.numpy(), Y.numpy(), batch_size=20, epochs=6, verbose=0, callbacks=callbacks)
        return model.get_weights(), call

    plain, _ = fitted(False)
    weights, call = fitted(True)
    assert all(np.array_equal(a, b) for a, b in zip(plain, weights, strict=True))
    assert call.times == [0, 1, 2, 4, 8, 15]
    moved = [one["weight_movement"].value for one in call.found.along]
    assert 0 < moved[0] < moved[1] < moved[-1]  # the weights of each step, not of the epoch before


def test_bad_input():
    with pytest.raises(bf.errors.InputError, match="does not hold its weights"):
        bf.regime.ProbeCallback(lambda w, X: X @ w, X)
    with pytest.raises(bf.errors.InputError, match="at least 4"):
        bf.regime.ProbeCallback(network(), X[:2])
    with pytest.raises(bf.errors.InputError, match="y: expected 60"):
        bf.regime.ProbeCallback(network(), X, Y[:3])
    with pytest.raises(bf.errors.InputError, match="share"):
        bf.regime.ProbeCallback(network(), X, Y, share=0.0)
    with pytest.raises(bf.errors.InputError, match="no step was recorded"):
        _ = bf.regime.ProbeCallback(network(), X, Y).found
