"""How values, reasons and histories are worded for people. The terminal and the screens of ``/ui`` share it."""
