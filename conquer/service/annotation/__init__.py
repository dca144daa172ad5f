"""Questions for people: uploaded items, pools and leases."""
