"""Microsoft's own client of Personalizer, pointed at a server of ours."""

import pytest

personalizer = pytest.importorskip(
    "azure.cognitiveservices.personalizer", reason="azure-cognitiveservices-personalizer is not installed"
)
msrest = pytest.importorskip("msrest.authentication")


def test_their_client_ranks_rewards_and_activates(start):
    from azure.cognitiveservices.personalizer.models import RankableAction, RankRequest

    server = start()
    keys = msrest.CognitiveServicesCredentials("none")
    client = personalizer.PersonalizerClient(server.address, keys)
    actions = [
        RankableAction(id="pasta", features=[{"taste": "salty"}, {"nutritionLevel": 5}]),
        RankableAction(id="cake", features=[{"taste": "sweet"}]),
    ]
    request = RankRequest(
        actions=actions, context_features=[{"timeOfDay": "morning"}], event_id="one", defer_activation=True
    )
    ranked = client.rank(rank_request=request)
    assert ranked.event_id == "one"
    assert {one.id for one in ranked.ranking} == {"pasta", "cake"}
    assert sum(one.probability for one in ranked.ranking) == pytest.approx(1.0)
    client.events.activate("one")
    client.events.reward(event_id="one", value=1.0)
