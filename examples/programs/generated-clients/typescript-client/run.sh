# Makes the client from openapi.json beside it, and runs the program. It stops at the first failure: sh -e run.sh
openapi-generator-cli generate -g typescript-fetch -i openapi.json -o client
npm install --silent typescript@5.9.3 @types/node@22.20.5
npx tsc --strict --target es2022 --module commonjs --outDir out main.ts
node out/main.js
