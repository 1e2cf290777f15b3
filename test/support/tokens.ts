/** Tokens and addresses that the tests share. Also used inside workerd, so it imports nothing from Node. */

export const API_TOKEN = "test-api-token";
export const BACKEND_TOKEN = "test-backend-token";
/** Port 9 (discard): nothing listens there. */
export const UNREACHABLE_BACKEND_URL = "http://127.0.0.1:9";
