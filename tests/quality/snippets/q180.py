"""Fares that are far off the mean of their class."""

import pandas as pd
from scipy.stats import zscore

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
far = {number: (abs(zscore(fares)) > 3).sum() for number, fares in people.groupby("Pclass")["Fare"]}
print(", ".join(f"@class{number}_outliers[{far[number]}]" for number in (1, 2, 3)))
