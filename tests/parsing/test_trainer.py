"""The front door of `conquer.parsing`: train, ask and tell, load, evaluate."""

import numpy as np
import pytest
from parsing.treebanks import random_treebank

from conquer import parsing
from conquer.parsing.edges import Features, encode
from conquer.parsing.trainer import recipe_of
from conquer.parsing.training import Training

BANK = random_treebank(1, 30)
SPEC = parsing.TrainSpec(bits=9, replay=3)


def oracle(question):
    truth = question.sentence.heads[question.word - 1]
    return {question.heads[0]: "first", question.heads[1]: "second"}.get(truth, "neither")


def test_every_public_name_is_there_and_no_other():
    assert all(getattr(parsing, name).__doc__ for name in parsing.__all__)
    assert sorted(parsing._HOMES) == sorted(parsing.__all__)
    with pytest.raises(AttributeError, match="no attribute 'fit'"):
        parsing.fit  # noqa: B018


def test_asking_a_person_asks_what_the_simulation_asks():
    """The same sentences in the same order, answered from the trees: same questions, same weights, bit for bit."""
    bank = [sentence for sentence in BANK if len(sentence) > 3]
    training = Training(encode(bank), Features(bits=9), recipe_of(SPEC))
    training.visit(20)
    trainer = parsing.Trainer(SPEC)
    asked = []
    for t in training.order(0, 20).tolist():
        question = trainer.ask(bank[t])
        asked.append((t, question.word, question.heads, oracle(question)))
        trainer.tell(question, oracle(question))
    assert asked == [(q.sentence, q.word, q.heads, q.answer) for q in training.log()]
    np.testing.assert_array_equal(trainer.learner.model.weights(), training.weights())


def test_a_person_trains_a_parser(tmp_path):
    trainer = parsing.Trainer(parsing.TrainSpec(bits=9, prior="upos"))
    before = parsing.evaluate(BANK, trainer.parser().parse(BANK)).uas
    for sentence in BANK:
        while (question := trainer.ask(sentence)) is not None and trainer.questions < 90:
            trainer.tell(question, oracle(question))
    after = parsing.evaluate(BANK, trainer.parser().parse(BANK)).uas
    assert after > before + 0.1
    trainer.parser().save(tmp_path / "parser")
    assert parsing.load(tmp_path / "parser").about["questions"] == trainer.questions


def test_each_word_is_asked_about_once_and_wrong_answers_are_refused():
    sentence = next(s for s in BANK if "PUNCT" not in s.upos and len(s) > 2)
    trainer = parsing.Trainer(SPEC)
    words = []
    while (question := trainer.ask(sentence)) is not None:
        with pytest.raises(ValueError, match="answer must be 'first', 'second', 'neither' or 'refused', got 'frist'"):
            trainer.tell(question, "frist")
        trainer.tell(question, "refused")
        words.append(question.word)
    assert sorted(words) == list(range(1, len(sentence) + 1))
    assert trainer.learner.fresh, "refusals are not learnt"
    with pytest.raises(ValueError, match="has been answered"):
        trainer.tell(parsing.Trainer(SPEC).ask(sentence), "first")


def test_training_takes_sentences_or_a_file(tmp_path):
    parsing.write(tmp_path / "bank.conllu", BANK)
    one, two = parsing.train(BANK, SPEC), parsing.train(tmp_path / "bank.conllu", SPEC)
    np.testing.assert_array_equal(one.weights, two.weights)
    assert str(two) == str(one)
    assert str(one).startswith("trained on 30 sentences with ")
    with pytest.raises(parsing.TreebankError, match="sentences: no sentences"):
        parsing.train([])
