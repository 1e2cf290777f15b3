/** Tokens and addresses that the tests share. Also used inside workerd, so it imports nothing from Node. */

export const API_TOKEN = "test-api-token";
export const BACKEND_TOKEN = "test-backend-token";
/**
 * Nothing listens on port 2, and no server of another test gets it. `fetch` does connect to it, unlike to ports 1 and
 * 9.
 */
export const UNREACHABLE_URL = "http://127.0.0.1:2";
