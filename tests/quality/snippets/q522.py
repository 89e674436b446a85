"""Whether title and class depend on each other."""

import pandas as pd
from scipy.stats import chi2_contingency

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
title = people["Name"].str.extract(r"(\S+\.)", expand=False)
title = title.where(title.isin(["Mr.", "Mrs.", "Miss."]), "Other")
found = chi2_contingency(pd.crosstab(title, people["Pclass"]))
print(f"@chi_square_statistic[{found.statistic:.2f}]\n@p_value[{found.pvalue:.4f}]")
