"""What every compiled room needs: compiling, tickets, sparse dot products, checks of outside arrays."""
