"""Correlation of age and value of homes."""

import pandas as pd
from scipy.stats import pearsonr

homes = pd.read_csv(get_memory_path("ds-my_test_01", "my_test_01.csv"))
r, p = pearsonr(homes["HouseAge"], homes["MedianHouseValue"])
significant = "true" if p < 0.05 else "false"
print(f"@correlation_coefficient[{r:.2f}], @p_value[{p:.4f}], @significant_correlation[{significant}]")
