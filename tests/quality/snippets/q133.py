"""How many rows have a cabin, and the median age that fills the ages missing among them.

Of which rows the median is, is open: one step follows the other, so it is of those that the first step left.
"""

import pandas as pd

people = pd.read_csv(get_memory_path("ds-titanic", "titanic.csv"))
left = people.dropna(subset=["Cabin"])
median = left["Age"].median()
left = left.fillna({"Age": median})
print(f"@row_count[{len(left)}]\n@median_age[{median:.1f}]")
