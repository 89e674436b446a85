"""Mean and standard deviation of the income of both applicants."""

import pandas as pd

loans = pd.read_csv(get_memory_path("ds-test_Y3wMUE5_7gLdaTN", "test_Y3wMUE5_7gLdaTN.csv"))
total = loans["ApplicantIncome"] + loans["CoapplicantIncome"]
print(f"@mean_total_income[{total.mean():.2f}] @std_dev_total_income[{total.std():.2f}]")
