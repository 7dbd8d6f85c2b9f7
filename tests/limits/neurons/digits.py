"""Margins to 120 digits by another road: kernels by their printed formula, the program by an active
set, in mpmath."""

import mpmath as mp

DIGITS = 150


def arc_cosine(X, squared=False):
    """The kernel matrix of C's eq. 5 from cosines, as printed, at `DIGITS` digits."""
    rows = [[mp.mpf(float(v)) for v in row] + [mp.mpf(1)] for row in X]
    p = len(rows[0])
    lengths = [mp.sqrt(mp.fdot(r, r)) for r in rows]
    K = mp.matrix(len(rows), len(rows))
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            c = mp.fdot(a, b) / (lengths[i] * lengths[j])
            theta = mp.mpf(0) if i == j else mp.acos(c)
            if squared:
                shape = 3 * mp.sin(theta) * mp.cos(theta) + (mp.pi - theta) * (
                    1 + 2 * mp.cos(theta) ** 2
                )
                K[i, j] = (lengths[i] * lengths[j]) ** 2 * shape / (2 * mp.pi * p * (p + 2))
            else:
                K[i, j] = (
                    lengths[i]
                    * lengths[j]
                    * (mp.sin(theta) + (mp.pi - theta) * mp.cos(theta))
                    / (2 * mp.pi * p)
                )
    return K


def products(Z):
    """ZZᵀ."""
    rows = [[mp.mpf(float(v)) for v in row] for row in Z]
    return mp.matrix([[mp.fdot(a, b) for b in rows] for a in rows])


def margin(K, y):
    """γ of a kernel matrix, with a gap below 1e-60: min uᵀGu/2 − Σu over u ≥ 0, one sample in or
    out at a time."""
    n = len(y)
    G = mp.matrix(n, n)
    for i in range(n):
        for j in range(n):
            G[i, j] = K[i, j] * int(y[i] * y[j])
    inside, u = [], [mp.mpf(0)] * n
    for _ in range(50 * n):
        slopes = [1 - mp.fsum(G[i, j] * u[j] for j in inside) for i in range(n)]
        entering = max(
            (i for i in range(n) if i not in inside), key=lambda i: slopes[i], default=None
        )
        if entering is None or slopes[entering] <= mp.mpf(10) ** -60:
            break
        inside = [*inside, entering]
        while True:
            A = mp.matrix([[G[i, j] for j in inside] for i in inside])
            z = mp.lu_solve(A, mp.matrix([1] * len(inside)))
            wrong = [k for k in range(len(inside)) if z[k] <= 0]
            if not wrong:
                for k, i in enumerate(inside):
                    u[i] = z[k]
                break
            step = min(u[inside[k]] / (u[inside[k]] - z[k]) for k in wrong)
            first = min(wrong, key=lambda k: u[inside[k]] / (u[inside[k]] - z[k]))
            for k, i in enumerate(inside):
                u[i] += step * (z[k] - u[i])
            u[inside[first]] = mp.mpf(0)
            inside = [i for i in inside if u[i] > 0]
    else:
        raise AssertionError("the reference did not converge")
    return 1 / mp.sqrt(mp.fsum(u))
