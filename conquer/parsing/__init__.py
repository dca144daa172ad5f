"""A dependency parser trained by questions: which of these two words is the head of this word?"""
