/**
 * What an operator does in each way of deployment: wrangler, compose, systemd, Kubernetes. From outside, a deployment does not
 * show which of them it is, so advice names each.
 */
export const EDGE_LOG =
  "wrangler tail, docker compose logs edge, journalctl -u 'document-rendering-edge@*', kubectl logs";
export const BACKEND_LOG = "docker compose logs, journalctl -u 'document-rendering-backend@*', kubectl logs";
export const EDGE_SECRETS = "wrangler secret put, .env of compose, edge.env of systemd, edge-secrets.env on Kubernetes";
export const EDGE_SETTINGS = "wrangler.toml, compose.yaml, edge.env of systemd, the ConfigMap on Kubernetes";
