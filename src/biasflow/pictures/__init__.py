"""Records as pictures, films and labelled arrays: what `.plot()`, `.animate()` and `.to_xarray()`
give."""

from .direction_pictures import direction_picture
from .films import flow_film
from .flow_pictures import flow_picture
from .labelled_arrays import flow_table, limit_table
from .lasso_pictures import lasso_picture
from .limit_pictures import certificate_picture, data_picture, limit_picture
from .network_pictures import network_picture
from .saddle_pictures import extremal_picture, relu_path_picture

__all__ = [
    "certificate_picture",
    "data_picture",
    "direction_picture",
    "extremal_picture",
    "flow_film",
    "flow_picture",
    "flow_table",
    "lasso_picture",
    "limit_picture",
    "limit_table",
    "network_picture",
    "relu_path_picture",
]
