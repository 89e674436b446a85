"""Whether ages are normally distributed."""

import pandas as pd
from scipy.stats import shapiro

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
p = shapiro(people["Age"].dropna()).pvalue
print(f"@norm_test_pvalue[{p:.4f}] @is_normal[{p > 0.05}]")
