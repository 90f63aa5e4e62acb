"""CloudEvents' library for Python, as its README shows it: sends an event, and reads what a webhook got."""

import base64
import json
import sys
import urllib.error
import urllib.request
from datetime import datetime

from cloudevents.core.bindings.http import (HTTPMessage, from_http_event, to_binary_event,
                                            to_structured_event)
from cloudevents.core.v1.event import CloudEvent


def made(event: dict) -> CloudEvent:
    attributes = {name: event[name] for name in ("id", "source", "type", "subject", "datacontenttype")
                  if event.get(name)}
    attributes.update(event.get("extensions") or {})
    if event.get("time"):
        attributes["time"] = datetime.fromisoformat(event["time"].replace("Z", "+00:00"))
    data = base64.b64decode(event["data"]) if event.get("data") else None
    if data is not None and "json" in event.get("datacontenttype", "json"):
        data = json.loads(data)
    return CloudEvent(attributes=attributes, data=data)


def send(call: dict) -> dict:
    write = to_structured_event if call["mode"] == "structured" else to_binary_event
    message = write(made(call["events"][0]))
    request = urllib.request.Request(call["url"], data=message.body, method="POST",
                                     headers={"Authorization": "Bearer " + call["token"], **message.headers})
    try:
        with urllib.request.urlopen(request) as response:
            return {"status": response.status, "answer": response.read().decode()}
    except urllib.error.HTTPError as error:
        return {"status": error.code, "answer": error.read().decode()}


def read(call: dict) -> dict:
    event = from_http_event(HTTPMessage(headers=call["headers"], body=base64.b64decode(call["body"])))
    data = event.get_data()
    if isinstance(data, str):
        data = data.encode()
    elif data is not None and not isinstance(data, bytes):
        data = json.dumps(data).encode()
    return {
        "id": event.get_id(), "source": event.get_source(), "type": event.get_type(),
        "subject": event.get_subject(), "time": event.get_time() and event.get_time().isoformat(),
        "datacontenttype": event.get_datacontenttype(),
        "extensions": {name: value for name, value in event.get_attributes().items()
                       if name not in ("id", "source", "type", "subject", "time", "datacontenttype", "specversion")},
        "data": base64.b64encode(data or b"").decode(),
    }


def main() -> None:
    call = json.load(sys.stdin)
    try:
        print(json.dumps(send(call) if call["do"] == "send" else read(call)))
    except Exception as error:  # what the library's user would see
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))


main()
