"""Data that comes with the package: real, small, free to redistribute."""

from ._adult import load_adult

__all__ = ["load_adult"]
