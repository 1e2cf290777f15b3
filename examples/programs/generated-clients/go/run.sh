# Makes the client from openapi.json beside it, and runs the program. It stops at the first failure: sh -e run.sh
go mod init example
go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -generate types,client -package main -o service.go openapi.json
go get github.com/oapi-codegen/runtime@v1.9.0
go run .
