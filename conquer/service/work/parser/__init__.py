"""A parser trained by people's answers, behind the service's learner interface."""
