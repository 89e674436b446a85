"""Whether ages differ between the first and the third class."""

import pandas as pd
from scipy.stats import mannwhitneyu

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
ages = people.dropna(subset=["Age"]).groupby("Pclass")["Age"]
p = mannwhitneyu(ages.get_group(1), ages.get_group(3)).pvalue
print(f"@p_value[{p:.4f}]\n@significance[{'Yes' if p < 0.05 else 'No'}]")
