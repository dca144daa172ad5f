"""The shop of both programs: products by name, and customers who like some of their features."""

PRODUCTS = {
    "trail shoe": {"sport": "running", "price": 0.6, "waterproof": True},
    "road shoe": {"sport": "running", "price": 0.5, "waterproof": False},
    "rope": {"sport": "climbing", "price": 0.7, "waterproof": False},
    "chalk bag": {"sport": "climbing", "price": 0.1, "waterproof": False},
    "rain cape": {"sport": "cycling", "price": 0.2, "waterproof": True},
    "helmet": {"sport": "cycling", "price": 0.4, "waterproof": False},
    "tent": {"sport": "camping", "price": 0.9, "waterproof": True},
    "mug": {"sport": "camping", "price": 0.1, "waterproof": False},
}
CUSTOMERS = {
    "runner": lambda product: (product["sport"] == "running") + 0.1 * product["waterproof"],
    "student": lambda product: 1.0 - product["price"],
    "camper": lambda product: product["waterproof"] + 0.5 * (product["sport"] == "camping"),
}


def favourite(customer):
    """The product this customer likes best."""
    return max(PRODUCTS, key=lambda name: CUSTOMERS[customer](PRODUCTS[name]))


def preferred(customer, shown):
    """Which of the shown products the customer picks."""
    return max(shown, key=lambda name: CUSTOMERS[customer](PRODUCTS[name]))
