"""Correlation of doubles and salary."""

import pandas as pd
from scipy.stats import pearsonr

players = pd.read_csv(get_memory_path("ds-baseball_data", "baseball_data.csv"))
known = players.dropna(subset=["number_of_doubles", "salary_in_thousands_of_dollars"])
r, p = pearsonr(known["number_of_doubles"], known["salary_in_thousands_of_dollars"])
print(f"@correlation_coefficient[{r:.2f}] @p_value[{p:.4f}]")
