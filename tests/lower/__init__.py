"""The lowering."""
