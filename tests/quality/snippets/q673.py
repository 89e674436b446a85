"""Correlation of value and rooms a person, with the mean and standard deviation of the value."""

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

homes = pd.read_csv(get_memory_path("ds-my_test_01", "my_test_01.csv"))
homes["MedInc"] = homes["MedInc"].fillna(homes["MedInc"].mean())
homes["AveOccup"] = StandardScaler().fit_transform(homes[["AveOccup"]])
homes["RoomsPerPerson"] = homes["AveRooms"] / homes["Population"]
value = homes["MedianHouseValue"]
print(f"@mean_value[{np.mean(value):.4f}]\n@standard_deviation[{np.std(value):.4f}]")
print(f"@pearson_coefficient[{value.corr(homes['RoomsPerPerson']):.4f}]")
