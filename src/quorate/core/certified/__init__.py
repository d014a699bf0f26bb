"""The certified policy's parts: plans that are exact at bounds, and bounds that hold at any time."""
