"""How many are left without the fares that are far above the mean."""

import pandas as pd
from scipy.stats import zscore

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
print(f"@number_of_entries_left[{(zscore(people['Fare']) <= 3).sum()}]")
