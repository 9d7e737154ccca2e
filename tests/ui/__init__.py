"""A package, so that what its tests share (the browser, the server) ends with them."""
