"""Mean and standard deviation of the values of homes."""

import statistics

import pandas as pd

homes = pd.read_csv(get_memory_path("ds-my_test_01", "my_test_01.csv"))
values = homes["MedianHouseValue"].tolist()
print(f"@mean_value[{statistics.mean(values):.4f}], @std_dev[{statistics.stdev(values):.4f}]")
