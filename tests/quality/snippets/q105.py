"""Correlation of income and loan, where both are known."""

import pandas as pd

loans = pd.read_csv(get_memory_path("ds-test_Y3wMUE5_7gLdaTN", "test_Y3wMUE5_7gLdaTN.csv"))
known = loans.dropna(subset=["ApplicantIncome", "LoanAmount"])
print(f"@correlation_coefficient[{known['ApplicantIncome'].corr(known['LoanAmount']):.2f}]")
