"""Whether fares are normally distributed in each class."""

import pandas as pd
from scipy.stats import shapiro

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
p = {number: shapiro(fares).pvalue for number, fares in people.groupby("Pclass")["Fare"]}
print(", ".join(f"@p_value_class_{number}[{p[number]:.4f}]" for number in (1, 2, 3)))
