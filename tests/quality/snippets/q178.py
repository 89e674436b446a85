"""How many are of each sex, and the fares between 0 and 1."""

import pandas as pd

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
people["Embarked"] = people["Embarked"].fillna(people["Embarked"].mode()[0])
sexes = people["Sex"].map({"female": 0, "male": 1}).value_counts()
low, high = people["Fare"].min(), people["Fare"].max()
fare = (people["Fare"] - low) / (high - low)
print(f"@sex_encoded_count[{sexes[0]}, {sexes[1]}]")
print(f"@fare_after_scaling[{fare.min():.2f}, {fare.max():.2f}, {fare.mean():.4f}]")
