"""The pictures: snapshots of stages as JSON, DOT, a static SVG, a MIME bundle and a standalone page."""
