"""Mean, median and standard deviation of the loans after missing ones are filled with the median."""

import pandas as pd

loans = pd.read_csv(get_memory_path("ds-test_Y3wMUE5_7gLdaTN", "test_Y3wMUE5_7gLdaTN.csv"))
loans["Self_Employed"] = loans["Self_Employed"].fillna("No")
loan = loans["LoanAmount"].fillna(loans["LoanAmount"].median())
print(f"@mean_loan[{loan.mean():.2f}], @median_loan[{loan.median():.2f}], @std_dev_loan[{loan.std():.2f}]")
