"""Whether fares are normally distributed."""

import pandas as pd
from scipy.stats import shapiro

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
print(f"@normality_test_result[{shapiro(people['Fare']).pvalue > 0.05}]")
