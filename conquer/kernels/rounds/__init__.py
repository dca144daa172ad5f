"""One round, compiled: settings, selection, projection, the steps, and the loop over all rounds."""
