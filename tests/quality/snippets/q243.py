"""Mean batting average of those who have one."""

import pandas as pd

players = pd.read_csv(get_memory_path("ds-baseball_data", "baseball_data.csv"))
print(f"@mean_batting_average[{players['batting_average'].dropna().mean():.3f}]")
