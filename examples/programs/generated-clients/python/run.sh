# Makes the client from openapi.json beside it, and runs the program. It stops at the first failure: sh -e run.sh
openapi-generator-cli generate -g python -i openapi.json -o client
python3 -m venv venv
venv/bin/pip install ./client
venv/bin/python main.py
