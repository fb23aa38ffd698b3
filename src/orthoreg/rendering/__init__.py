"""Render findings and chart data as pages and figures."""
