"""Mean share in engineering."""

import pandas as pd

shares = pd.read_csv(
    get_memory_path("ds-percent-bachelors-degrees-women-usa", "percent-bachelors-degrees-women-usa.csv")
)
print(f"@mean_value[{shares['Engineering'].mean():.2f}]")
