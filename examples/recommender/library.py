"""Learn what each kind of customer wants, in one process."""

from products import CUSTOMERS, PRODUCTS, favourite, preferred

import conquer

session = conquer.Session(conquer.make("gnr", dim=2**16), seed=0)
met = 0
for visit in range(600):
    customer = list(CUSTOMERS)[visit % 3]
    offer = session.ask(PRODUCTS, context={"customer": customer})
    met += favourite(customer) in offer.shown
    session.tell(offer, preferred(customer, offer.shown))

print(f"the favourite was among the two in {met / 600:.0%} of visits")
for customer in CUSTOMERS:
    best = session.ask(PRODUCTS, context={"customer": customer}).shown[0]
    print(f"{customer}: {best} (truly {favourite(customer)})")
