"""What every part uses and none is about: checks of parameters, number formats, files, progress, compilation."""
