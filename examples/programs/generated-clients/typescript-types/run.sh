# Makes the client from openapi.json beside it, and runs the program. It stops at the first failure: sh -e run.sh
npm install --silent openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 @types/node@22.20.5
npx openapi-typescript openapi.json --default-non-nullable false -o service.d.ts
npx tsc --strict --target es2022 --module commonjs --outDir out main.ts
node out/main.js
