"""How far boards can be trusted when one looks after every answer, and how few answers an order takes."""
