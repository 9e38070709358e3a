from hypothesis import given
from hypothesis import strategies as st

from specfleet_common.shm.capture import Begin, End
from specfleet_engine.following import Following, FollowPolicy, NewRequest, conversation_key

STOP = 7
prompts = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=40)


def policy(
    *, fleet: str = "fleet", follow_requests: int = 2, holdout_percent: int = 10
) -> FollowPolicy:
    return FollowPolicy(
        fleet, follow_requests, max_tokens=100, holdout_percent=holdout_percent, key_tokens=16
    )


def request(
    name: str, *, prompt: int = 4, computed: int = 0, most: int = 10, least: int = 0
) -> NewRequest:
    return NewRequest(
        name, range(100, 100 + prompt), computed, most, least, frozenset({STOP}), name
    )


def test_a_request_is_followed_until_there_is_no_room() -> None:
    following = Following(policy(follow_requests=1))

    first, second = following.admit(request("a")), following.admit(request("b"))

    assert isinstance(first, Begin)
    assert second is None


def test_an_ended_request_makes_room() -> None:
    following = Following(policy(follow_requests=1))
    following.admit(request("a"))

    following.end("a", "finished")

    assert following.admit(request("b")) is not None


def test_a_prefix_cache_hit_makes_the_context_incomplete() -> None:
    following = Following(policy())

    hit, miss = following.admit(request("a", computed=16)), following.admit(request("b"))

    assert hit is not None and not hit.complete
    assert miss is not None and miss.complete


def test_a_prompt_longer_than_the_limit_is_not_followed() -> None:
    assert Following(policy()).admit(request("a", prompt=100)) is None


def test_tokens_past_a_stop_do_not_count() -> None:
    following = Following(policy())
    following.admit(request("a", prompt=4))
    followed = following.get("a")
    assert followed is not None

    followed.extend(4, [1, STOP, 2, 3])
    followed.extend(8, [4])

    assert following.end("a", "finished") == End(serial=0, length=6, reason="finished")


def test_tokens_past_the_longest_output_do_not_count() -> None:
    following = Following(policy())
    following.admit(request("a", prompt=4, most=3))
    followed = following.get("a")
    assert followed is not None

    followed.extend(4, [1, 2, 3, 4, 5])

    assert followed.length == 7


def test_a_stop_token_before_the_least_output_does_not_stop() -> None:
    following = Following(policy())
    following.admit(request("a", prompt=4, least=2))
    followed = following.get("a")
    assert followed is not None

    followed.extend(4, [STOP, 1, STOP, 1])

    assert followed.length == 7


def test_a_preempted_request_that_starts_again_keeps_its_length() -> None:
    following = Following(policy())
    following.admit(request("a", prompt=4))
    followed = following.get("a")
    assert followed is not None
    followed.extend(4, [1, 2, 3])

    followed.extend(0, [100, 101, 102, 103, 1, 2, 3])

    assert followed.length == 7


@given(prompts, st.lists(st.integers(0, 2**31 - 1)))
def test_prompts_that_begin_alike_are_one_conversation(prompt: list[int], rest: list[int]) -> None:
    first = (prompt * 16)[:16]

    assert conversation_key(first, policy()) == conversation_key(first + rest, policy())


@given(prompts)
def test_another_fleet_has_other_keys(prompt: list[int]) -> None:
    other = policy(fleet="other")

    assert conversation_key(prompt, policy()) != conversation_key(prompt, other)


def test_about_the_wanted_share_is_held_out() -> None:
    following = Following(policy(follow_requests=10**6, holdout_percent=20))

    begins = [
        following.admit(NewRequest(str(n), [n] * 4, 0, 1, 0, frozenset(), str(n)))
        for n in range(4000)
    ]

    held_out = sum(begin is not None and begin.held_out for begin in begins)
    assert 700 < held_out < 900
