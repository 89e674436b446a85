"""Whether home runs are normally distributed."""

import pandas as pd
from scipy.stats import shapiro

players = pd.read_csv(get_memory_path("ds-baseball_data", "baseball_data.csv"))
p = shapiro(players["number_of_home_runs"].dropna()).pvalue
print(f"@p_value[{p:.4f}] @normality_test[{'not_normal' if p < 0.05 else 'normal'}]")
