"""Median age of the men who survived and paid more than the average."""

import pandas as pd

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
chosen = (people["Sex"] == "male") & (people["Survived"] == 1) & (people["Fare"] > people["Fare"].mean())
print(f"@median_age[{people.loc[chosen, 'Age'].dropna().median():.2f}]")
