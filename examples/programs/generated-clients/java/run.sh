# Makes the client from openapi.json beside it, and runs the program. It stops at the first failure: sh -e run.sh
openapi-generator-cli generate -g java --library native -i openapi.json -o client
mvn --quiet --file client/pom.xml compile dependency:copy-dependencies
java -cp 'client/target/classes:client/target/dependency/*' Main.java
