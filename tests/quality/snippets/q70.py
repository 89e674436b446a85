"""Error of a linear model of the wage on the part that it has not seen."""

import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split

workers = pd.read_csv(get_memory_path("ds-beauty-and-the-labor-market", "beauty and the labor market.csv"))
features = ["exper", "looks", "union", "goodhlth", "black", "female", "married", "south"]
features += ["bigcity", "smllcity", "service", "educ"]
seen, unseen = train_test_split(workers, test_size=0.3, random_state=42)
model = LinearRegression().fit(seen[features], seen["wage"])
error = root_mean_squared_error(unseen["wage"], model.predict(unseen[features]))
print(f"@RMSE[{error:.2f}]")
