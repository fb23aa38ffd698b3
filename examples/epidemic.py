# %% [markdown]
# # An epidemic with unmeasured states
#
# The data are the numbers of boys in bed with influenza on each of 14 days, in a boarding school
# of 763 boys in 1978 (*British Medical Journal*, 4 March 1978, page 587). The susceptible and the
# recovered boys were not counted, so S and R are hidden states. On the first day, no boy had
# recovered, and all boys who were not ill were susceptible.

# %%
import numpy as np

import orthoreg as og

in_bed = np.array([3, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4], dtype=float)
days = np.arange(14.0)
data = og.Dataset.from_arrays(in_bed[:, None], days, names=["I"], hidden=["S", "R"])

# %%
physics = og.Physics(
    equations={"S": "-beta*S*I/N", "I": "beta*S*I/N - gamma*I", "R": "gamma*I"},
    values={"N": 763},
    start={"S": "N - I - R", "R": 0},
)
model = og.OrthoReg(physics=physics).fit(data)
print("\n".join(model.equations()))
for name, value in model.parameters_.items():
    low, high = model.parameter_intervals_.get(name, (np.nan, np.nan))
    print(f"{name} = {value:.3f}, 95% interval {low:.3f} to {high:.3f}")
beta, gamma = model.parameters_["beta"], model.parameters_["gamma"]
print(f"basic reproduction number: {beta / gamma:.1f}")

# %%
first = model.forecast(data)[0].x[0]
forecast = model.simulate(first, np.linspace(0, 20, 201))
ill = forecast.x[:, 0]
print(f"peak: {ill.max():.0f} in bed on day {forecast.times[ill.argmax()]:.1f}")
print(f"not infected at the end: {forecast.x[-1, 1]:.0f}")
