"""Whether incomes are normally distributed."""

import pandas as pd
from scipy.stats import shapiro

homes = pd.read_csv(get_memory_path("ds-my_test_01", "my_test_01.csv"))
p = shapiro(homes["MedInc"]).pvalue
print(f"@p_value[{p:.4f}], @distribution_type[{'normal' if p > 0.05 else 'not normal'}]")
