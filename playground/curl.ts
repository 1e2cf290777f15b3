/**
 * A request as a command for a shell. The token is a variable of the shell: it is in no text that is copied.
 */
import { API_TOKEN_HEADER } from "../protocol/headers.ts";

/** No line of a JSON text can equal it. */
const END_MARK = "END_OF_REQUEST";

/** Longer bodies are sent from a file: people do not paste megabytes into a terminal. */
export const MAX_INLINE_BODY_CODE_UNITS = 8_000;

/** The name of that file. */
export const BODY_FILE_NAME = "request.json";

/** The command that sends a body and saves the answer under `outputName`, which must need no quoting. */
export function curlCommand(origin: string, body: string, outputName: string): string {
  const isInline = body.length <= MAX_INLINE_BODY_CODE_UNITS;
  const lines = [
    `curl --fail-with-body -o ${outputName} ${origin}/v1/render`,
    `  -H "${API_TOKEN_HEADER}: $SERVICE_API_TOKEN"`,
    `  -H 'Content-Type: application/json'`,
    isInline ? `  --data-binary @- <<'${END_MARK}'` : `  --data-binary @${BODY_FILE_NAME}`,
  ];
  const command = lines.join(" \\\n");
  return isInline ? `${command}\n${body}\n${END_MARK}\n` : `${command}\n`;
}
