"""The YAML loader of settings files and model manifests: plain data only."""

try:
    # libyaml's parser, several times as fast as the one in Python, which stands in where PyYAML was built without it.
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # pragma: no cover
    from yaml import SafeLoader  # type: ignore[assignment]

__all__ = ["SafeLoader"]
