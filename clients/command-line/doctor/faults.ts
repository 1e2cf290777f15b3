/**
 * The type of a fault, and the texts that several checks share. Cause and advice are constants; what was seen is the
 * only text that depends on the deployment.
 */
export interface Fault {
  /** Only a `failure` makes the command fail. */
  readonly severity: "failure" | "warning";
  readonly cause: string;
  readonly advice: string;
}

const faultOf =
  (severity: Fault["severity"]) =>
  (text: TemplateStringsArray, ...values: readonly string[]): Fault => {
    const parts = String.raw(text, ...values).split("→");
    const [cause = "", advice = ""] = parts.map((part) => part.trim().replace(/\s+/g, " "));
    return { severity, cause, advice };
  };

/** A fault as the text `cause → advice`, on as many lines as it needs. */
export const failure = faultOf("failure");
export const warning = faultOf("warning");

// From outside, the kind of deployment cannot be seen, so the advice names all: wrangler, compose, systemd, Kubernetes.
export const EDGE_LOG =
  "wrangler tail, docker compose logs edge-1 edge-2, journalctl -u 'document-rendering-edge@*', kubectl logs";
export const BACKEND_LOG = "docker compose logs, journalctl -u 'document-rendering-backend@*', kubectl logs";
export const EDGE_SECRETS = "wrangler secret put, .env of compose, edge.env of systemd, edge-secrets.env on Kubernetes";
export const EDGE_SETTINGS = "wrangler.toml, compose.yaml, edge.env of systemd, the ConfigMap on Kubernetes";

export const SAME_VERSION = "Deploy the version of this checkout, or use the doctor of that version.";
export const HIGHER_BODY_LIMIT =
  "Raise its limit above max_request_body_bytes of the deployment (nginx: client_max_body_size 21m).";
export const OTHER_RELEASE = warning`The release differs from that of this program. → ${SAME_VERSION}`;
