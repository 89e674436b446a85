"""Skewness of the fares, as pandas has it."""

import pandas as pd

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
print(f"@fare_skewness[{people['Fare'].skew():.2f}]")
