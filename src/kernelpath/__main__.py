"""``python -m kernelpath``: the command line."""

from kernelpath.cli.start import main

if __name__ == "__main__":
    main()
