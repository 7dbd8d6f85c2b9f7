"""Mirror flow in its n-dimensional dual, by LSODA for any potential and compiled for
hypentropies."""
