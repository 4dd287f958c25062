"""What every part of the package may use: files, progress, threads, units, compiled loops."""
