"""The screens for people at ``/ui`` (design 06, UI; S1 section 10). Built with NiceGUI; every read and action goes through
the server's gateway with the identity of the person who has signed in, so that roles, tenants and facts hold.
"""
