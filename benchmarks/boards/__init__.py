"""How often boards claim something false, and how few answers an order needs."""
