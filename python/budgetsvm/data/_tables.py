"""Rows of tables with named columns: CSV and Parquet, read by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from .._columns import Layout, places
from ._files import FileSource
from ._pieces import Piece

_ROWS = 1 << 16


def _arrow(module: str) -> Any:
    try:
        from importlib import import_module

        return import_module(f"pyarrow.{module}")
    except ImportError:
        raise ImportError(
            "CSV and Parquet are read by pyarrow: pip install budgetsvm[parquet]"
        ) from None


class TableSource(FileSource):
    """Tables with the same columns, one below the other."""

    def __init__(
        self, paths: list[str], *, features: Any, header: bool, dtype: Any, csv: bool, **own: Any
    ) -> None:
        super().__init__(paths, dtype=dtype or np.float32, **own)
        self._csv, self._header = csv, header
        self._schema = self._open(paths[0])[0]
        names = list(self._schema.names)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"{paths[0]}: two columns are called {twice!r}")
        self._own = [self._named(at, names) for at in (self._target, self._weight)]
        if features is None:
            chosen = [name for name in names if name not in self._own]
        else:
            many = [features] if isinstance(features, (str, int)) else list(features)
            chosen = [self._named(one, names) for one in many]
        if not chosen:
            raise ValueError("features: there is no column left")
        self.features: list[Any] = chosen
        self.n_features = len(chosen)
        if header or not csv:
            self.columns = chosen
        self._all = features is None
        for name in chosen:
            self._check_type(name, self._schema.field(name).type, paths[0])
        if not csv:
            self.n_rows = sum(_arrow("parquet").ParquetFile(p).metadata.num_rows for p in paths)

    def layout(self) -> Layout:
        label = self._own[0] if self.columns is not None else None
        place = None if label is None else list(self._schema.names).index(label)
        return super().layout()._replace(label=label, place=place)

    def like(self, fitted: Layout) -> Self:
        if self.columns is None or fitted.names is None:
            return self
        # The column of the labels is no feature, unless the user has named it among them.
        label = fitted.label if self._all else None
        if places(fitted.names, self.columns, self._name(), label) is None:
            return self
        names = list(fitted.names)
        return self._copy(features=names, columns=names, n_features=len(names))

    def _named(self, given: Any, names: list[str]) -> Any:
        if isinstance(given, (int, np.integer)) and -len(names) <= given < len(names):
            return names[given]
        if isinstance(given, (str, int, np.integer)) and given not in names:
            shown = ", ".join(map(repr, names[:20]))
            raise ValueError(f"{given!r} is no column of {self.paths[0]}: it has {shown}")
        return given if isinstance(given, str) else None

    def _check_type(self, name: str, kind: Any, path: str) -> None:
        types = _arrow("types")
        fits = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
        if not fits and not types.is_decimal(kind):
            raise ValueError(
                f"{path}: column {name!r} is of type {kind}: features are numbers, encode it "
                "before, or leave it out of `features`"
            )

    def _open(self, path: str) -> tuple[Any, Any]:
        """The columns of a file, and what gives its rows in batches."""
        if not self._csv:
            try:
                file = _arrow("parquet").ParquetFile(path)
            except _arrow("lib").ArrowException as error:
                raise ValueError(f"{path}: {error}") from None
            return file.schema_arrow, file
        csv = _arrow("csv")
        read = csv.ReadOptions(
            use_threads=False, block_size=1 << 23, autogenerate_column_names=not self._header
        )
        convert = None
        if hasattr(self, "features"):
            # Whatever the first rows look like: a later one may have a fraction.
            wide = {name: "float64" for name in [*self.features, self._own[1]] if name}
            convert = csv.ConvertOptions(column_types=wide, strings_can_be_null=True)
        parse = csv.ParseOptions(delimiter="\t" if path.lower().endswith(".tsv") else ",")
        try:
            file = csv.open_csv(path, read, parse, convert)
        except _arrow("lib").ArrowException as error:
            raise ValueError(f"{path}: {error}") from None
        return file.schema, file

    def pieces(self) -> Iterator[Piece]:
        self._begin()
        wanted = [name for name in (*self.features, *self._own) if name is not None]
        seen = 0
        for path in self.paths:
            schema, file = self._open(path)
            missing = [name for name in wanted if name not in schema.names]
            if missing:
                raise ValueError(f"{path}: there is no column {missing[0]!r}")
            more = [name for name in schema.names if name not in self._schema.names]
            if more and self._all:
                raise ValueError(f"{path}: column {more[0]!r} is not in {self.paths[0]}")
            for name in self.features:
                self._check_type(name, schema.field(name).type, path)
            first = 0
            batches = iter(file if self._csv else file.iter_batches(_ROWS, columns=wanted))
            while True:
                try:
                    batch = next(batches)
                except StopIteration:
                    break
                except _arrow("lib").ArrowException as error:
                    raise ValueError(f"{path}, from row {first} on: {error}") from None
                piece = self._piece(batch, path, first, seen)
                yield piece
                first, seen = first + len(piece.X), seen + len(piece.X)
        self._end(seen)

    def _piece(self, batch: Any, path: str, first: int, seen: int) -> Piece:
        X = np.empty((batch.num_rows, len(self.features)), self.dtype)
        for at, name in enumerate(self.features):
            X[:, at] = self._numbers(batch, name, path, first)
        y, w = (
            None if name is None else self._numbers(batch, name, path, first) for name in self._own
        )
        y, w = self._sides(seen, len(X), y, w)
        return Piece(X, y, w, path, first)

    def _numbers(self, batch: Any, name: str, path: str, first: int) -> np.ndarray:
        column = batch.column(batch.schema.get_field_index(name))
        if column.null_count:
            row = first + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise ValueError(f"{path}, row {row} (the first is 0): column {name!r} has no value")
        if _arrow("types").is_decimal(column.type):
            column = column.cast("float64")
        found = column.to_numpy(zero_copy_only=False)
        return found if found.dtype != object else np.asarray(found, dtype=object)
