"""Rivals for fixed arms without features."""
