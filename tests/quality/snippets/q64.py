"""Mean and standard deviation of the wages."""

import pandas as pd

workers = pd.read_csv(get_memory_path("ds-beauty-and-the-labor-market", "beauty and the labor market.csv"))
wage = workers["wage"]
print(f"@mean_wage[{wage.mean():.2f}] @std_wage[{wage.std():.2f}]")
