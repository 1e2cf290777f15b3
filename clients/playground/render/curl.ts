/**
 * A request as a shell command. The token is a shell variable, so that copied text never contains it.
 */
import { API_TOKEN_HEADER } from "../../../protocol/headers.ts";

/** No line of a JSON text can equal it. */
const END_MARK = "END_OF_REQUEST";

/** Longer bodies are sent from a file, because nobody pastes megabytes into a terminal. */
export const MAX_INLINE_BODY_CODE_UNITS = 8_000;

/** The name of that file. */
export const BODY_FILE_NAME = "request.json";

/** The command that sends a body and saves the answer as `outputName`, a name that needs no quoting. */
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
