"""Mean loan of graduates and of others, and whether they differ."""

import pandas as pd
from scipy.stats import ttest_ind

loans = pd.read_csv(get_memory_path("ds-test_Y3wMUE5_7gLdaTN", "test_Y3wMUE5_7gLdaTN.csv"))
known = loans.dropna(subset=["LoanAmount"]).groupby("Education")["LoanAmount"]
graduates, others = known.get_group("Graduate"), known.get_group("Not Graduate")
significance = "significant" if ttest_ind(graduates, others).pvalue < 0.05 else "no significant"
print(f"@graduate_mean_loan[{graduates.mean():.2f}], @not_graduate_mean_loan[{others.mean():.2f}]", end=", ")
print(f"@significance[{significance}]")
