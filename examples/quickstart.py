"""A fit to arrays: a damped oscillator with a force that the library lacks."""

import numpy as np
from scipy.integrate import solve_ivp

import orthoreg as og

t = np.linspace(0, 8, 161)
rng = np.random.default_rng(0)


def oscillator(_, state):
    x, v = state
    return [v, -x - 0.3 * v + 0.5 * np.tanh(4 * x)]


runs = [
    solve_ivp(oscillator, (0, 8), rng.uniform(-2, 2, 2), t_eval=t, rtol=1e-9, atol=1e-9).y.T
    for _ in range(30)
]
data = og.Dataset.from_arrays(runs, t, names=["x", "v"])

model = og.OrthoReg(library=og.Polynomial(3)).fit(data)
for equation in model.equations():
    print(equation)

symbolic, neural = model.decompose(data.states)  # sums to model.predict(data.states)
print(f"size of the residual: {np.linalg.norm(neural) / np.linalg.norm(symbolic + neural):.3f}")
print(f"its overlap with the terms: {model.certificate_.equations[1].overlap:.0e}")

forecast = model.simulate([1.5, 0.0], np.linspace(0, 12, 200))
print(forecast.status, forecast.x[-1].round(3))

model.save("oscillator.orthoreg")
same = og.load("oscillator.orthoreg")
assert np.array_equal(same.predict(data.states), model.predict(data.states))
