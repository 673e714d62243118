"""From rows to exact integers: where rows enter, which bin, which rows of a unit are kept, and their sums."""
