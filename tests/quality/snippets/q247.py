"""Mean runs of players who may choose their team, and of the others."""

import pandas as pd

players = pd.read_csv(get_memory_path("ds-baseball_data", "baseball_data.csv"))
runs = players.groupby("indicator_of_free_agency_eligibility")["number_of_runs"].mean()
print(f"@average_runs_by_eligible_for_free_agency[{runs[1]:.2f}]")
print(f"@average_runs_by_not_eligible_for_free_agency[{runs[0]:.2f}]")
