"""What people read in a terminal: tables, ages, reasons, timelines. The command and the demonstration share it."""
