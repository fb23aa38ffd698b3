"""Terminal, pages and figures from findings and data."""
