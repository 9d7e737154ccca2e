"""The demonstration: a laboratory's wet lab and compute on real data, with people, crashes and repairs (``tenure demo``).

``show`` runs it, ``acts`` is its story, ``app`` what its workers can do, ``promises`` what it checks of itself.
"""
