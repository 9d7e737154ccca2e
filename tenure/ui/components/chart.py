"""Lines over time."""

from __future__ import annotations

from nicegui.elements.echart import EChart

from tenure.ui.components.component import Component

#: NiceGUI brings ECharts along; its own element is what makes the module known to the browser.
LIBRARY = EChart


class Chart(Component, component="chart.js"):
    """Lines over time, drawn by ECharts in the colours of the theme."""
