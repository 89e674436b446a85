"""How wage and experience go together, and whether that is by chance."""

import pandas as pd
from scipy.stats import pearsonr

workers = pd.read_csv(get_memory_path("ds-beauty-and-the-labor-market", "beauty and the labor market.csv"))
r, p = pearsonr(workers["wage"], workers["exper"])
strength = "linear" if abs(r) >= 0.5 else "nonlinear"
kind = strength if p < 0.05 else "none"
print(f"@correlation_coefficient[{r:.2f}] @p_value[{p:.4f}] @relationship_type[{kind}]")
