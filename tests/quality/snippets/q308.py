"""Mean fare by title."""

import pandas as pd

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
title = people["Name"].str.extract(r"(\S+)\.", expand=False)
fares = people.groupby(title)["Fare"].mean()
print(", ".join(f"@average_fare_{one}[{fares[one]:.2f}]" for one in ("Mr", "Mrs", "Miss", "Master")))
