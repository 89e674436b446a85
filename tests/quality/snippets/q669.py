"""Mean and standard deviation of incomes without those far from the middle half."""

import pandas as pd

homes = pd.read_csv(get_memory_path("ds-my_test_01", "my_test_01.csv"))
income = homes["MedInc"]
low, high = income.quantile(0.25), income.quantile(0.75)
reach = 1.5 * (high - low)
left = income[income.between(low - reach, high + reach)]
print(f"@mean[{left.mean():.2f}] @standard_deviation[{left.std():.2f}]")
