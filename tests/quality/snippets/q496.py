"""Four fields added, from 2000 on: mean and range."""

import pandas as pd

shares = pd.read_csv(
    get_memory_path("ds-percent-bachelors-degrees-women-usa", "percent-bachelors-degrees-women-usa.csv")
)
fields = ["Computer Science", "Engineering", "Math and Statistics", "Physical Sciences"]
added = shares.loc[shares["Year"] >= 2000, fields].sum(axis=1)
print(f"@mean_STEM[{added.mean():.2f}]\n@range_STEM[{added.max() - added.min():.2f}]")
