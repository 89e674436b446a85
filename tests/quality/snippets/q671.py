"""Error of a linear model of the value on the part that it has not seen.

The seed of the split is open: it is the one that the other questions name.
"""

import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split

homes = pd.read_csv(get_memory_path("ds-my_test_01", "my_test_01.csv"))
features = ["MedInc", "AveRooms", "Population", "Latitude", "Longitude"]
seen, unseen = train_test_split(homes, test_size=0.3, random_state=42)
model = LinearRegression().fit(seen[features], seen["MedianHouseValue"])
error = mean_squared_error(unseen["MedianHouseValue"], model.predict(unseen[features]))
print(f"@mse[{error:.3f}]")
