"""Pages and figures from findings and chart data."""
