"""Mean and standard deviation in architecture, without years that are far off."""

import pandas as pd
from scipy.stats import zscore

shares = pd.read_csv(
    get_memory_path("ds-percent-bachelors-degrees-women-usa", "percent-bachelors-degrees-women-usa.csv")
)
far = abs(zscore(shares["Architecture"])) > 3
left = shares.loc[~far, "Architecture"]
print(f"@outlier_years[{', '.join(map(str, sorted(shares.loc[far, 'Year'])))}]")
print(f"@mean_without_outliers[{left.mean():.2f}]\n@std_without_outliers[{left.std():.2f}]")
