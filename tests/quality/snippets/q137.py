"""Accuracy of a logistic regression that knows only who travels alone.

Balanced is open, beside a model that has the default parameters: it is the split, which has as many survivors on both
sides.
"""

import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
people["IsAlone"] = (people["SibSp"] + people["Parch"] == 0).astype(int)
seen, unseen = train_test_split(people, test_size=0.3, random_state=42, stratify=people["Survived"])
model = LogisticRegression().fit(seen[["IsAlone"]], seen["Survived"])
print(f"@model_score[{model.score(unseen[['IsAlone']], unseen['Survived']):.2f}]")
