"""Correlation of class and fare."""

import pandas as pd

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
known = people.dropna(subset=["Pclass", "Fare"])
print(f"@correlation_pclass_fare[{known['Pclass'].corr(known['Fare']):.2f}]")
