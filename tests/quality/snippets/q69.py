"""Correlation of the wage with experience times looks."""

import pandas as pd

workers = pd.read_csv(get_memory_path("ds-beauty-and-the-labor-market", "beauty and the labor market.csv"))
workers["experience_score"] = workers["exper"] * workers["looks"]
print(f"@correlation[{workers['experience_score'].corr(workers['wage']):.3f}]")
