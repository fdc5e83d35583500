"""Figures: from data to drawings."""
