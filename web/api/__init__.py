"""The API, ``/api/v1``: what the pages show and do, for programs.

One table, :mod:`web.api.routes`, has every operation with its parameters, its body and its answer. The routes, the
checks of what is sent, the OpenAPI document and ``docs/api.md`` are all made from it, so that they cannot differ.
"""
