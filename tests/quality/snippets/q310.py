"""The two numbers that go together most."""

from itertools import combinations

import pandas as pd

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
columns = ["Age", "Fare", "SibSp", "Parch"]
r = people[columns].corr()
first, second = max(combinations(columns, 2), key=lambda pair: r.loc[pair])
print(f"@strongest_correlation_pair[{first}, {second}]")
print(f"@strongest_correlation_coefficient[{r.loc[first, second]:.2f}]")
