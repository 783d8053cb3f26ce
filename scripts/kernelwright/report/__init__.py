"""The report of a campaign: report.json from its artifacts, report.html from report.json; an index."""
