"""Checks of the rendered Helm chart: rules over its objects, and the schemas of their kinds."""
