"""Short forms and what they stand for, so that "don't", "dont" and "do not" are the same words."""

import re

_CONTRACTED = {
    "can't": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "ain't": "is not",
    "let's": "let us",
    "cannot": "can not",
    "gonna": "going to",
    "wanna": "want to",
    "gotta": "got to",
    "gimme": "give me",
    "lemme": "let me",
    "kinda": "kind of",
    "sorta": "sort of",
    "im": "i am",
    "ive": "i have",
    "youre": "you are",
    "youve": "you have",
    "theyre": "they are",
    "theyve": "they have",
    "thats": "that is",
    "whats": "what is",
    "theres": "there is",
}
_SHORT = {
    "w/": "with",
    "w/o": "without",
    "b/c": "because",
    "n/a": "not available",
    "cuz": "because",
    "bcoz": "because",
    "bcz": "because",
    "u": "you",
    "ur": "your",
    "r": "are",
    "plz": "please",
    "pls": "please",
    "thx": "thanks",
    "thnx": "thanks",
    "tks": "thanks",
    "ppl": "people",
    "btw": "by the way",
    "imo": "in my opinion",
    "imho": "in my humble opinion",
    "asap": "as soon as possible",
    "aka": "also known as",
    "fyi": "for your information",
    "idk": "do not know",
    "omg": "oh my god",
    "tho": "though",
    "thru": "through",
    "abt": "about",
    "qty": "quantity",
    "approx": "approximately",
    "vs": "versus",
    "etc": "et cetera",
    "govt": "government",
    "dept": "department",
    "hrs": "hours",
    "mins": "minutes",
    "yrs": "years",
}
# People leave the apostrophe out; "wont" and "cant" are words of their own only on paper.
_WITHOUT_APOSTROPHE = {"cant": "can not", "wont": "will not", "aint": "is not"}
_NEGATED = re.findall(r"\w+", "do does did is are was were has have had could would should must need might")
# After these words 's is "is"; after any other it marks an owner and says nothing about the thing owned.
_WITH_IS = re.findall(r"\w+", "it he she that this there here what where who how when why everything nothing something")

ENDINGS = {"s": "", "t": "not", "m": "am", "d": "would", "ve": "have", "ll": "will", "re": "are"}
"""What follows an apostrophe, and the word it is short for."""

ABBREVIATIONS: dict[str, str] = {
    **_CONTRACTED,
    **_SHORT,
    **{f"{word}nt": f"{word} not" for word in _NEGATED},
    **_WITHOUT_APOSTROPHE,
    **{f"{word}'s": f"{word} is" for word in _WITH_IS},
}
"""A short form and its words; never more words than the short form has letters."""
