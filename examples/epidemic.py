# %% [markdown]
# # An epidemic with an unmeasured state
#
# The data are the numbers of boys in bed with influenza on each of 14 days, in a boarding school
# of 763 boys in 1978 (*British Medical Journal*, 4 March 1978, page 587). The susceptible boys
# were not counted, but can be eliminated: S' = -beta S I / N implies S = S(0) exp(-beta J / N)
# with J' = I. J is the sum of the days in bed.

# %%
import numpy as np

import orthoreg as og

in_bed = np.array([3, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4], dtype=float)
days = np.arange(14.0)
total = np.concatenate([[0.0], np.cumsum((in_bed[1:] + in_bed[:-1]) / 2)])
data = og.Dataset.from_arrays(np.column_stack([in_bed, total]), days, names=["I", "J"])

# %%
physics = og.Physics(
    equations={"J": "I", "I": "beta*S0/N*exp(-beta*J/N)*I - gamma*I"},
    values={"N": 763, "S0": 760},
    bounds={"beta": (0.1, 10)},
)
model = og.OrthoReg(physics=physics).fit(data)
print("\n".join(model.equations()))
for name, value in model.parameters_.items():
    low, high = model.parameter_intervals_.get(name, (np.nan, np.nan))
    print(f"{name} = {value:.3f}, 95% interval {low:.3f} to {high:.3f}")
beta, gamma = model.parameters_["beta"], model.parameters_["gamma"]
print(f"basic reproduction number: {beta / gamma:.1f}")

# %%
forecast = model.simulate([3.0, 0.0], np.linspace(0, 20, 201))
ill = forecast.x[:, 0]
print(f"peak: {ill.max():.0f} in bed on day {forecast.times[ill.argmax()]:.1f}")
print(f"not infected at the end: {760 * np.exp(-beta * forecast.x[-1, 1] / 763):.0f}")
