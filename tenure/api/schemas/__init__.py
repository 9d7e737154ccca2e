"""What requests and answers look like, one small file for each kind of object (design 06, HTTP API).

Answers have the form of ``tenure.sdk.public_form.public``; these models describe it, with examples, for the OpenAPI document.
"""
