"""Ages that are more than three standard deviations off the mean."""

import pandas as pd
from scipy.stats import zscore

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
print(f"@outliers_count[{(abs(zscore(people['Age'].dropna())) > 3).sum()}]")
