"""Readers: from files of many formats to plain arrays, bounded in size and without running code."""
