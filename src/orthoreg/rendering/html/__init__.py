"""One self-contained HTML page about a model and its data, which opens without a network."""

from ._collect import collect as collect
from ._data import ReportData as ReportData
from ._page import document as document
from ._page import render as render
from ._report import report as report
from ._report import report_page as report_page
