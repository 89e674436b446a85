"""The fields with the highest share in 2010."""

import pandas as pd

shares = pd.read_csv(
    get_memory_path("ds-percent-bachelors-degrees-women-usa", "percent-bachelors-degrees-women-usa.csv")
)
last = shares.set_index("Year").loc[2010]
print(f"@fields[{', '.join(last[last == last.max()].index)}]")
