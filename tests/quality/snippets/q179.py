"""Correlation of age and fare among those of the first class who survived."""

import pandas as pd

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
chosen = people[(people["Survived"] == 1) & (people["Pclass"] == 1)]
print(f"@correlation_coefficient[{chosen['Age'].corr(chosen['Fare']):.3f}]")
