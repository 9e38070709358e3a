"""`python3 -m vllm.entrypoints.openai.api_server`: starts the simulator, with vLLM's arguments."""

from e2e.simulator.server import main

if __name__ == "__main__":
    main()
