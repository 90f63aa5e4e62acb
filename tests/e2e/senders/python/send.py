"""pywebpush, as its README shows it."""

import json
import sys

from pywebpush import WebPushException, webpush

call = json.load(sys.stdin)
headers = {}
if call["topic"]:
    headers["Topic"] = call["topic"]
if call["urgency"]:
    headers["Urgency"] = call["urgency"]
result = {"status": 0, "expired": False, "retryAfter": None, "error": None}
try:
    response = webpush(
        call["subscription"],
        data=call["payload"],
        vapid_private_key=call["vapid"]["privateKey"],
        vapid_claims={"sub": call["vapid"]["subject"]},
        ttl=call["ttl"],
        headers=headers,
        content_encoding=call["encoding"],
    )
    result["status"] = response.status_code
except WebPushException as error:
    response = error.response
    result["error"] = str(error)
    if response is not None:
        result["status"] = response.status_code
        result["expired"] = response.status_code in (404, 410)
        result["retryAfter"] = response.headers.get("Retry-After")
print(json.dumps(result))
