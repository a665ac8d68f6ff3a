"""Validates JSON documents against their schemas: schemas.py FOLDER-OF-SCHEMAS DOCUMENT..."""

import json
import pathlib
import sys

import jsonschema


def strict(schema):
    """The schema, with an error for every field that it does not describe."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {name: strict(part) for name, part in schema.items()}
    if "properties" in schema and schema.get("type") == "object":
        schema.setdefault("additionalProperties", False)
    return schema


def main():
    folder, *documents = map(pathlib.Path, sys.argv[1:])
    used = set()
    for document in documents:
        content = json.loads(document.read_text())
        name = content["schema"].removeprefix("network_test.").replace("/", "-") + ".json"
        schema = json.loads((folder / name).read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        errors = list(jsonschema.Draft202012Validator(strict(schema)).iter_errors(content))
        for error in errors[:5]:
            print(f"{document.name}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")
        if errors:
            sys.exit(1)
        used.add(name)
    unused = {path.name for path in folder.iterdir()} - used
    if unused:
        sys.exit(f"no document was validated against {sorted(unused)}")


main()
