/** How long edge and backend keep a connection on which there is no request. */

/**
 * Whoever is in front must close it first: a request that meets its end on the way is lost, and a POST is not sent again. Go's
 * clients keep theirs for 90 s, and many pools for as long as the answer says.
 */
export const IDLE_CONNECTION_SETTING = {
  setting: "SERVICE_IDLE_CONNECTION_SECONDS",
  default: 95,
  min: 1,
  max: 3600,
  meaning:
    "how long a connection without a request is kept: longer than the proxy in front keeps it (650 behind a load balancer of Google Cloud)",
} as const;
