"""The paper's study on reviews: plan, cells, tables, claims, report."""
