"""Ask/tell learners: CONQUER's family over any model, voters' reliability, and exploration around any learner."""
