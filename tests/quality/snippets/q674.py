"""Error of a decision tree on the part that it has not seen, and how well it follows it.

The seed of the tree is open: it is that of the split.
"""

import pandas as pd
from scipy.stats import pearsonr
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

homes = pd.read_csv(get_memory_path("ds-my_test_01", "my_test_01.csv"))
features = ["MedInc", "AveRooms", "HouseAge", "Latitude", "Longitude"]
seen, unseen = train_test_split(homes, test_size=0.3, random_state=42)
model = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=5, random_state=42))
model.fit(seen[features], seen["MedianHouseValue"])
said, true = model.predict(unseen[features]), unseen["MedianHouseValue"]
print(f"@mean_absolute_error[{mean_absolute_error(true, said):.4f}]")
print(f"@pearson_coefficient[{pearsonr(said, true).statistic:.4f}]")
