"""Batting average less on-base percentage: mean and standard deviation."""

import pandas as pd

players = pd.read_csv(get_memory_path("ds-baseball_data", "baseball_data.csv"))
less = (players["batting_average"] - players["on_base_percentage"]).dropna()
print(f"@mean[{less.mean():.2f}] @std_dev[{less.std():.2f}]")
