"""The pages as they are sent to browsers; a package so that an installation carries them."""
