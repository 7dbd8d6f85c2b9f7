"""Two-layer ReLU networks: the event-driven flow, early alignment, and the limit of vanishing initialisation."""
