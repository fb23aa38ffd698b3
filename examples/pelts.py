# %% [markdown]
# # Predator and prey, from real pelts
#
# The data are the numbers of lynx and hare pelts that the Hudson's Bay Company collected each year
# from 1900 to 1920, in thousands. They are from Howard, *Modeling Basics* (2009), as used in
# Carpenter's case study *Predator-Prey Population Dynamics* of the Stan project (2018). Few rows
# and much noise make it difficult to learn equations from these data.

# %%
import numpy as np

import orthoreg as og

years = np.arange(1900, 1921, dtype=float)
hare = [30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1, 40.3, 57, 76.6, 52.3, 19.5,
        11.2, 7.6, 14.6, 16.2, 24.7]  # fmt: skip
lynx = [4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7,
        15.8, 9.7, 10.1, 8.6]  # fmt: skip
data = og.Dataset.from_arrays(np.column_stack([hare, lynx]), years, names=["hare", "lynx"])

# %% [markdown]
# ## Known terms
#
# The terms of the Lotka-Volterra equations are given, and their coefficients are estimated.

# %%
library = og.PerState(
    {"hare": og.Terms(["hare", "hare*lynx"]), "lynx": og.Terms(["lynx", "hare*lynx"])}
)
model = og.OrthoReg(library, og.Zero(), sparsity=0.0).fit(data)
print("\n".join(model.equations(3)))
print("Stan's posterior means: 0.55 hare - 0.028 hare*lynx, -0.80 lynx + 0.024 hare*lynx")

# %% [markdown]
# ## Unknown terms
#
# If all terms up to degree two are candidates, the summary says what can be concluded from 21 rows.

# %%
free = og.OrthoReg(og.Polynomial(2)).fit(data)
print("\n".join(free.equations(3)))
summary = free.summary(data)
print(summary.verdict.text)
for advice in summary.advice:
    print(f"- {advice.text}")
