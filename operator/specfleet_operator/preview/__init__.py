"""What the operator would do for a changed fleet, told to whoever asks before it is changed."""
