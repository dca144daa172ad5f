"""Ask/tell learners: CONQUER's family over any model, and exploration around any learner."""
