"""Render a report as one self-contained HTML page, which opens without a network."""

from ._page import document as document
from ._page import render as render
from ._pieces import verdict_word as verdict_word
