"""For those who test what they built on Tenure: a pytest plugin and conformance suites."""
