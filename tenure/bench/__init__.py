"""A quick self-measurement: Tenure beside bare SQL on the same server, in one run (``tenure bench``).

``bare_queue`` is the plainest queue table there can be, ``loaded`` the same work through Tenure, ``rounds`` runs both in
turn, ``scratch`` makes the database in which they run and drops it afterwards.
"""
