"""Mean and population standard deviation of the fares."""

import pandas as pd

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
fare = people["Fare"]
print(f"@mean_fare[{fare.mean():.2f}] @std_dev_fare[{fare.std(ddof=0):.2f}]")
