"""Shape of ages and of fares, and how many are near the mean."""

import pandas as pd
from scipy.stats import kurtosis, skew

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
for name in ("Age", "Fare"):
    values, short = people[name].dropna(), name.lower()
    near = values.between(values.mean() - values.std(), values.mean() + values.std()).sum()
    print(f"@{short}_skewness[{skew(values):.2f}]")
    print(f"@{short}_kurtosis[{kurtosis(values):.2f}]")
    print(f"@{short}_values_within_one_stdev[{near}]")
