"""One module for each kind of object that the API shows or acts on."""
