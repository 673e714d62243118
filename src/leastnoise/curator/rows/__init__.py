"""From people's rows to exact integers: cleaned, placed in bins, clipped, chosen by the limits, and added up."""
