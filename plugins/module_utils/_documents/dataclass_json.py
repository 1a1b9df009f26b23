# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Derive JSON Schemas, encoders and decoders from frozen dataclasses. Standard library only.

A field's type determines its JSON; ``typing.Annotated`` adds the data of _model/fields.py. A class is inspected once.
The functions made from it then convert its values, because a plan may have 100,000 elections.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from enum import StrEnum
from functools import cache
from operator import attrgetter, itemgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from .._model.fields import SCHEMA_VERSION, Digest, Meta, SchemaVersion, Time, WrittenAs

T = TypeVar("T")
Schema = dict[str, Any]
Convert = Callable[[Any], Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class Codec(Generic[T]):
    """The JSON Schema of a dataclass, and the functions that encode and decode its values."""

    schema: Schema
    encode: Callable[[T], dict[str, Any]]
    """Converts a value to an object of types that ``json`` writes."""
    decode: Callable[[Any], T]
    """Converts JSON that meets the schema to a value. Other JSON usually raises KeyError, TypeError or ValueError."""


def codec(type_: type[T], description: str = "") -> Codec[T]:
    """Derive the codec of a dataclass. ``description`` is the description in its schema.

    Raises TypeError for an unsupported type, and for an integer without bounds.
    """
    shape = _shape(Annotated[type_, Meta(description=description)], "")
    return Codec(shape.schema, shape.encode or _same, shape.decode or _same)


def document(name: str, title: str, schema: Schema) -> Schema:
    """Return the schema as it is published in docs/schemas/."""
    return {"$schema": DIALECT, "$id": f"urn:kafkaops:recovery:{name}", "title": title, **schema}


def with_digest(type_: type[Any], description: str) -> Schema:
    """Return the schema of a dataclass in a file that also has the digest of its content."""
    content: Any = Annotated[type_, Meta(flat=True)]
    return codec(make_dataclass("WithDigest", [("content", content), ("digest", Digest)]), description).schema


def timed_report(
    name: str, title: str, type_: type[T], description: str
) -> tuple[Schema, Callable[[T, str, str], dict[str, Any]]]:
    """Return the schema of a report that has a ``type_`` and the times of the run, and the function that encodes it.

    The arguments of that function are the ``type_``, and when the run began and ended.
    """
    report = make_dataclass(
        "TimedReport",
        [
            ("schema_version", SchemaVersion, field(default=SCHEMA_VERSION, init=False)),
            ("started_at", Time),
            ("finished_at", Time),
            ("content", Annotated[type_, Meta(flat=True)]),
        ],
    )
    derived: Codec[Any] = codec(report, description)

    def encode(content: T, started_at: str, finished_at: str) -> dict[str, Any]:
        return derived.encode(report(started_at, finished_at, content))

    return document(name, title, derived.schema), encode


def in_camel_case(value: Any) -> Any:
    """Return the value with the keys of all its objects in camel case, as in documents. For results of modules."""
    if isinstance(value, Mapping):
        return {_to_camel_case(str(key)): in_camel_case(item) for key, item in value.items()}
    return [in_camel_case(item) for item in value] if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True, slots=True)
class _Shape:
    """The parts of a codec. A conversion that changes nothing is None, so that no function is called for it."""

    schema: Schema
    encode: Convert | None = None
    decode: Convert | None = None


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of a dataclass, in order."""

    keys: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Attributes. Those of a flat field have its name and a dot as prefix."""
    shapes: list[_Shape] = field(default_factory=list)
    is_argument: list[bool] = field(default_factory=list)
    """False for a field that the class computes itself (``init=False``)."""


def _shape(hint: Any, name: str) -> _Shape:
    """Derive the shape of a type. ``name`` is the field's name in words."""
    meta = Meta()
    if get_origin(hint) is Annotated:
        hint, *metadata = get_args(hint)
        if isinstance(metadata[-1], WrittenAs):
            return _write_only(metadata[-1], name)
        meta = metadata[-1]
    if meta.zero:
        return _with_word_for_zero(_plain_schema(hint, meta, name), meta.zero)
    if get_origin(hint) in (Union, UnionType):
        (known,) = (each for each in get_args(hint) if each is not NoneType)
        return _nullable(_shape(Annotated[known, meta] if meta != Meta() else known, name))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _record(hint, meta)
    if isinstance(hint, type) and issubclass(hint, tuple):
        return _record_as_list(hint, meta)
    if get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
        return _list(get_args(hint)[0], meta, name)
    if get_origin(hint) is Mapping:
        return _by_word(get_args(hint)[1], meta, name)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _word(hint, meta.subject or _add_article(name))
    return _Shape(_plain_schema(hint, meta, name))


def _write_only(written_as: WrittenAs, name: str) -> _Shape:
    shape = _shape(written_as.type, name)
    encode = shape.encode or _same
    return _Shape(shape.schema, lambda value: encode(written_as.convert(value)), _refuse_to_read)


def _plain_schema(type_: Any, meta: Meta, name: str) -> Schema:
    subject = meta.subject or ("this" if type_ is bool else _add_article(name))
    if type_ is bool:
        return {"description": f"{subject} is true or false", "type": "boolean"}
    if type_ is str and meta.pattern:
        return {"description": meta.description, "type": "string", "pattern": meta.pattern}
    if type_ is str:
        return {"description": meta.description or f"{subject} is a string", "type": "string"}
    if type_ is int and meta.minimum is not None and meta.maximum is not None:
        bounds = f"{subject} is an integer from {meta.minimum} to {meta.maximum}"
        description = meta.description or bounds
        return {"description": description, "type": "integer", "minimum": meta.minimum, "maximum": meta.maximum}
    raise TypeError(f"{name}: {type_} with {meta} has no place in a document")


def _word(words: type[StrEnum], subject: str) -> _Shape:
    values = [word.value for word in words]
    schema = {"description": f"{subject} is one of {', '.join(values)}", "type": "string", "enum": values}
    # Much faster than the enum's own .value and constructor.
    return _Shape(schema, attrgetter("_value_"), {word.value: word for word in words}.__getitem__)


def _nullable(known: _Shape) -> _Shape:
    """Return the shape of the same type with null for an unknown value."""
    schema = known.schema
    allowed = {
        **schema,
        "description": f"{schema['description']}, or null if not known",
        "type": [*(schema["type"] if isinstance(schema["type"], list) else [schema["type"]]), "null"],
    }
    if "enum" in schema:
        allowed["enum"] = [*schema["enum"], None]
    return _Shape(allowed, _unless_none(known.encode), _unless_none(known.decode))


def _with_word_for_zero(schema: Schema, word: str) -> _Shape:
    schema = {
        **schema,
        "description": f'{schema["description"]}, or "{word}" for 0',
        "type": ["integer", "string"],
        "minimum": 1,
        "pattern": f"^{word}$",
    }
    return _Shape(schema, lambda value: value or word, lambda value: 0 if value == word else value)


def _unless_none(convert: Convert | None) -> Convert | None:
    return None if convert is None else lambda value: None if value is None else convert(value)


def _list(item_type: Any, meta: Meta, name: str) -> _Shape:
    item = _shape(item_type, name.removesuffix("s"))
    schema = {
        "description": meta.description or f"the {name} are a list",
        "type": "array",
        "items": item.schema,
        "minItems": meta.min_items,
    }
    encode, decode = item.encode, item.decode
    return _Shape(
        schema,
        list if encode is None else lambda values: [encode(each) for each in values],
        tuple if decode is None else lambda values: tuple([decode(each) for each in values]),
    )


def _by_word(value_type: Any, meta: Meta, name: str) -> _Shape:
    if meta.keys is None:
        raise TypeError(f"{name}: a mapping needs an enum of its keys")
    shape = _shape(value_type, name)
    schema = _object_schema(meta.description, {word.value: shape.schema for word in meta.keys})
    return _Shape(schema, dict, _refuse_to_read)


def _object_schema(description: str, properties: dict[str, Schema]) -> Schema:
    """Return the schema of an object that has exactly these keys."""
    return {
        "description": description,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _record(class_: type, meta: Meta) -> _Shape:
    fields = _fields(class_)
    description = meta.description or f"{_add_article(_split_words(class_.__name__))} is an object"
    properties = {key: shape.schema for key, shape in zip(fields.keys, fields.shapes, strict=True)}
    return _Shape(_object_schema(description, properties), _encoder(fields), _decoder(class_, fields))


def _record_as_list(class_: type, meta: Meta) -> _Shape:
    """Return the shape of a NamedTuple, which is a list of its values in JSON, to save space."""
    hints = get_type_hints(class_, include_extras=True)
    shapes = [_shape(hint, name.replace("_", " ")) for name, hint in hints.items()]
    schemas = [each.schema for each in shapes]
    if any(each.encode or each.decode for each in shapes):
        raise TypeError(f"{class_}: a NamedTuple may have only plain values")
    schema = {
        "description": meta.description,
        "type": "array",
        "prefixItems": schemas,
        "items": False,
        "minItems": len(schemas),
    }
    return _Shape(schema, list, lambda values: class_(*values))


@cache
def _fields(class_: type) -> _Fields:
    result = _Fields()
    hints = get_type_hints(class_, include_extras=True)
    for each in dataclasses.fields(class_):
        hint = hints[each.name]
        meta = get_args(hint)[-1] if get_origin(hint) is Annotated else None
        if isinstance(meta, Meta) and meta.flat:
            inner = _fields(get_args(hint)[0])
            result.keys.extend(inner.keys)
            result.names.extend(f"{each.name}.{name}" for name in inner.names)
            result.shapes.extend(inner.shapes)
            result.is_argument.extend(inner.is_argument)
        else:
            key = meta.name if isinstance(meta, Meta) else ""
            result.keys.append(key or _to_camel_case(each.name))
            result.names.append(each.name)
            result.shapes.append(_shape(hint, each.name.replace("_", " ")))
            result.is_argument.append(each.init)
    return result


def _encoder(fields: _Fields) -> Convert:
    """Make the function that turns a dataclass into an object."""
    keys, values_of = fields.keys, _getter(attrgetter, fields.names)
    converted = [(key, each.encode) for key, each in zip(keys, fields.shapes, strict=True) if each.encode is not None]

    def encode(value: Any) -> dict[str, Any]:
        result = dict(zip(keys, values_of(value)))  # noqa: B905 - strict takes twice the time
        for key, convert in converted:
            result[key] = convert(result[key])
        return result

    return encode


def _decoder(class_: type, fields: _Fields) -> Convert:
    """Make the function that calls the class with the values of an object."""
    arguments = [index for index, is_argument in enumerate(fields.is_argument) if is_argument]
    values_of = _getter(itemgetter, [fields.keys[index] for index in arguments])
    shapes = [fields.shapes[index] for index in arguments]
    converted = [(index, each.decode) for index, each in enumerate(shapes) if each.decode is not None]
    names = [fields.names[index] for index in arguments]
    is_by_name = any(each.kw_only for each in dataclasses.fields(class_))

    def decode(value: Any) -> Any:
        values = [*values_of(value)]
        for index, convert in converted:
            values[index] = convert(values[index])
        return class_(**dict(zip(names, values, strict=True))) if is_by_name else class_(*values)

    return decode


def _getter(getter: Callable[..., Convert], names: Sequence[str]) -> Convert:
    """Return an ``attrgetter`` or ``itemgetter`` of these names that returns a tuple even for one name."""
    get = getter(*names)
    return get if len(names) > 1 else lambda value: (get(value),)


def _to_camel_case(name: str) -> str:
    return re.sub("_([a-z0-9])", lambda match: match.group(1).upper(), name)


def _split_words(class_name: str) -> str:
    return re.sub("(?<!^)(?=[A-Z])", " ", class_name).lower()


def _add_article(words: str) -> str:
    return f"{'an' if words[:1] in 'aeiou' else 'a'} {words}"


def _same(value: Any) -> Any:
    return value


def _refuse_to_read(_value: Any) -> Any:
    raise TypeError("this field is only written, never read")
