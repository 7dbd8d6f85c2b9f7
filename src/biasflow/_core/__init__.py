"""What every room hands on: reading of arguments, trees of arrays, problems, results."""
