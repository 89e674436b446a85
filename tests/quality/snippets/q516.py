"""Skewness of the fares by moments.

Which estimator of it is open. The fares are a sample: it is pandas' one, without the bias of small samples.
"""

import pandas as pd

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
print(f"@skewness_fare[{people['Fare'].dropna().skew():.2f}]")
