"""The vector field of a model: equations plus residual, its trust region and its jumps."""
