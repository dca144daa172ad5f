"""What each route does: the only room that knows a request."""
