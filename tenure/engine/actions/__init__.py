"""One action, one file, all of the same shape: what it is (``ActionSpec``), its set form, its single form."""
