"""Machine code and steppers, each once: compilation, time limits, a Rosenbrock method, exact sums,
double precision in JAX."""
