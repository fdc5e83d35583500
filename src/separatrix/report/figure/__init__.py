"""Figures: from the data of a study to drawings and data files."""
