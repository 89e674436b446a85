"""Correlation of the size of a family with survival."""

import pandas as pd

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
people["FamilySize"] = people["SibSp"] + people["Parch"]
print(f"@correlation_coefficient[{people['FamilySize'].corr(people['Survived']):.2f}]")
