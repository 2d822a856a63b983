# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON against the schemas in docs/schema, as far as those go. A schema that says
something that is not looked at here fails: it would be believed. Where the module
jsonschema is there, it has to agree."""

import json
import os
import re

try:
    import jsonschema
except ImportError:
    jsonschema = None

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "schema")
SAYS_NOTHING = {"$schema", "$id", "$defs", "title", "description"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


class Wrong(AssertionError):
    pass


def load(name):
    with open(os.path.join(FOLDER, name + ".json")) as f:
        return json.load(f)


def need(fine, where, what):
    if not fine:
        raise Wrong(f"{where or 'the document'}: {what}")


def is_number(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool)


def is_type(v, name):
    if name == "integer":
        return is_number(v) and v == int(v)
    return is_number(v) if name == "number" else isinstance(v, TYPES[name])


def same(a, b):
    """1 and true are two values in JSON."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


class Checker:
    def __init__(self, root):
        self.root = root

    def check(self, schema, v, where=""):
        for word, arg in schema.items():
            if word in SAYS_NOTHING:
                continue
            rule = getattr(self, "do_" + word.lstrip("$"), None)
            need(rule, where, f"the schema says {word}, which nothing here looks at")
            rule(schema, arg, v, where)

    def do_ref(self, _, path, v, where):
        place = self.root
        for part in path.removeprefix("#/").split("/"):
            place = place[part]
        self.check(place, v, where)

    def do_type(self, _, names, v, where):
        names = names if isinstance(names, list) else [names]
        need(any(is_type(v, n) for n in names), where, f"{v!r} is no {' or '.join(names)}")

    def do_enum(self, _, values, v, where):
        need(any(same(v, x) for x in values), where, f"{v!r} is none of {values}")

    def do_const(self, _, value, v, where):
        need(same(v, value), where, f"{v!r} is not {value!r}")

    def do_pattern(self, _, pattern, v, where):
        need(not isinstance(v, str) or re.search(pattern, v), where, f"{v!r} is not like {pattern}")

    def do_minLength(self, _, least, v, where):
        need(not isinstance(v, str) or len(v) >= least, where, f"{v!r} is shorter than {least}")

    def do_minimum(self, _, least, v, where):
        need(not is_number(v) or v >= least, where, f"{v} is below {least}")

    def do_minItems(self, _, least, v, where):
        need(not isinstance(v, list) or len(v) >= least, where, f"{len(v or [])} items, at least {least}")

    def do_maxItems(self, _, most, v, where):
        need(not isinstance(v, list) or len(v) <= most, where, f"{len(v or [])} items, at most {most}")

    def do_uniqueItems(self, _, wanted, v, where):
        need(not wanted or not isinstance(v, list) or len({json.dumps(x) for x in v}) == len(v), where, "items twice")

    def do_items(self, _, schema, v, where):
        for i, item in enumerate(v if isinstance(v, list) else []):
            self.check(schema, item, f"{where}[{i}]")

    def do_required(self, _, keys, v, where):
        for k in keys if isinstance(v, dict) else []:
            need(k in v, where, f"no {k}")

    def do_properties(self, _, schemas, v, where):
        for k, s in schemas.items() if isinstance(v, dict) else []:
            if k in v:
                self.check(s, v[k], f"{where}.{k}")

    def do_propertyNames(self, _, schema, v, where):
        for k in v if isinstance(v, dict) else []:
            self.check(schema, k, f"{where}, name {k}")

    def do_additionalProperties(self, parent, schema, v, where):
        for k in v if isinstance(v, dict) else []:
            if k in parent.get("properties", {}):
                continue
            need(schema is not False, where, f"{k} is not in the schema")
            if isinstance(schema, dict):
                self.check(schema, v[k], f"{where}.{k}")


def check(document, name):
    """Raises Wrong, which says what and where."""
    root = load(name)
    Checker(root).check(root, document)
    if jsonschema:
        jsonschema.Draft202012Validator(root).validate(document)
