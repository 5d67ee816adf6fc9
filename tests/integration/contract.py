"""Checks every answer of a daemon against schema/openapi.json: status and media type are declared for the route, and a JSON body
fits its schema. A request without a route must get a problem."""
import json
import pathlib
import re

try:
    import jsonschema
except ImportError:  # Debian: python3-jsonschema
    jsonschema = None

DOCUMENT = json.loads((pathlib.Path(__file__).resolve().parents[2] / "schema/openapi.json").read_text())
MANY_PARTS = {"/a/{root}/{path}", "/api/v1/live/{user}/{path}", "/api/v1/assets/{id}/source/{path}", "/ui/{page}",
              "/api/v1/mirrors/{root}/origin/{path}"}  # the last parameter may contain slashes
PROBLEM = "application/problem+json"
COMMON = {400, 401, 403, 405, 411, 414, 429, 431}  # authentication and form of requests: stated once, in the document
seen = set()  # (method, path of the document, status)


def _pattern(path):
    parts = re.split(r"\{\w+\}", path)
    inner = ["[^/]+"] * (len(parts) - 1)
    if path in MANY_PARTS:
        inner[-1] = ".+"
    return re.compile("".join(a + b for a, b in zip(map(re.escape, parts), inner + [""])))


ROUTES = [(_pattern(path), path, operations) for path, operations in DOCUMENT["paths"].items()]


def find(method, target):
    """The declared path and operation; (path, None) when it has no such method, (None, None) when there is no path."""
    for pattern, path, operations in ROUTES:
        if pattern.fullmatch(target.split("?")[0]):
            return path, operations.get("get" if method == "HEAD" else method.lower())
    return None, None


def resolve(thing):
    while "$ref" in thing:
        at = DOCUMENT
        for part in thing["$ref"].split("/")[1:]:
            at = at[part]
        thing = at
    return thing


def validate(schema, value, what):
    if jsonschema is None:
        return
    whole = dict(schema, components=DOCUMENT["components"])
    errors = list(jsonschema.Draft202012Validator(whole).iter_errors(value))
    assert not errors, f"{what}: {errors[0].message} at {list(errors[0].absolute_path)}"


def check(method, target, status, headers, body):
    what = f"{method} {target} -> {status}"
    path, operation = find(method, target)
    if method == "OPTIONS":
        return
    if operation is None or (status in COMMON and str(status) not in operation["responses"]):
        assert status >= 400, f"{what}: no such operation is declared, and it was answered"
        declared = {"description": "", "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    else:
        assert str(status) in operation["responses"], f"{what}: this status is not declared ({body[:300]!r})"
        declared = resolve(operation["responses"][str(status)])
        seen.add(("GET" if method == "HEAD" else method, path, status))
    for name, header in declared.get("headers", {}).items():
        assert name.lower() in headers or not header.get("required"), f"{what}: the header {name} is missing"
    if method == "HEAD" or status in (204, 304):
        assert not body, f"{what}: a body"
        return
    kind = headers.get("content-type", "").split(";")[0]
    content = declared.get("content")
    if content is None:
        return
    assert kind in content, f"{what}: {kind} is not declared, but {list(content)}"
    schema = content[kind].get("schema")
    if schema and kind.endswith("json") and "ndjson" not in kind:
        validate(schema, json.loads(body), what)


def unseen():
    """Declared answers that no check has seen."""
    return sorted((method.upper(), path, int(status)) for path, operations in DOCUMENT["paths"].items()
                  for method, operation in operations.items() for status in operation["responses"]
                  if (method.upper(), path, int(status)) not in seen)
