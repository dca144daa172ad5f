"""The same with a running `conquer serve`, which keeps the model and stores each answer before it replies."""

import json
import os
import urllib.request

from products import CUSTOMERS, PRODUCTS, favourite, preferred

SERVER = os.environ.get("SERVER", "http://127.0.0.1:8000")


def post(path, body):
    """The reply to a JSON body."""
    request = urllib.request.Request(SERVER + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


post("/v1/models", {"name": "shop", "algorithm": "gnr"})
items = [{"id": name, "features": features} for name, features in PRODUCTS.items()]
met = 0
for visit in range(300):
    customer = list(CUSTOMERS)[visit % 3]
    offer = post("/v1/models/shop/choose", {"items": items, "context": {"customer": customer}})
    shown = [item["id"] for item in offer["shown"]]
    met += favourite(customer) in shown
    post(f"/v1/models/shop/events/{offer['event_id']}/answer", {"winner": preferred(customer, shown)})

print(f"the favourite was among the two in {met / 300:.0%} of visits")
for customer in CUSTOMERS:
    offer = post("/v1/models/shop/choose", {"items": items, "context": {"customer": customer}})
    print(f"{customer}: {offer['shown'][0]['id']} (truly {favourite(customer)})")
