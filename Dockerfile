# Two images: `docker build --target edge .` and `docker build --target backend .`, which is also the default. Settings and
# secrets come from the environment of the container. Both run as an ordinary user with a read-only root.
#
# Debian 13 because its util-linux 2.41 has a setpriv with Landlock. That is the sandbox for hosts without user namespaces:
# Docker's default seccomp profile disables them. SERVICE_SANDBOX=auto takes bubblewrap where it runs, else Landlock.

FROM ghcr.io/typst/typst:0.15.1 AS typst

FROM node:26.10.0-trixie-slim AS edge-build
WORKDIR /service
COPY package.json package-lock.json .npmrc ./
# The programs of esbuild and workerd are packages of their own and need no install script.
RUN npm ci --ignore-scripts
COPY wrangler.toml ./
COPY rules rules
COPY client client
COPY edge edge
COPY playground playground
COPY examples examples
COPY static static
COPY scripts scripts
RUN node scripts/build-edge.ts

# Node is there for the health check, and shares its layers with the backend.
FROM node:26.10.0-trixie-slim AS edge
# The certificates are for backends behind https.
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /service
COPY --from=edge-build /service/dist/edge ./
COPY LICENSE ./
USER 1000:1000
# A line of JSON per request on standard output.
ENV SERVICE_LOG_REQUESTS=json
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8787/health').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# On SIGTERM workerd answers what is in flight and ends.
CMD ["./workerd", "serve", "config.capnp"]

FROM node:26.10.0-trixie-slim AS packages
WORKDIR /service
COPY package.json package-lock.json .npmrc ./
# No install scripts: none is needed here, and one would install a second Node.
RUN npm ci --omit=dev --ignore-scripts

FROM node:26.10.0-trixie-slim AS backend
RUN apt-get update \
  && apt-get install -y --no-install-recommends bubblewrap util-linux \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /service
COPY --from=typst /bin/typst /usr/local/bin/typst
COPY --from=packages /service/node_modules node_modules
COPY package.json LICENSE ./
COPY rules rules
COPY backend backend
# What `npm run packages` and `npm run fonts` have fetched, if anything.
COPY packages packages
COPY fonts fonts
# The image's user `node`, by its number: Kubernetes compares it with `runAsNonRoot`.
USER 1000:1000
# In a container nothing removes old files from /tmp, and any user may write there, including one given by
# `docker run --user`. It also works with a read-only root and a tmpfs, which must not be noexec if Typst loads shared
# libraries.
ENV NODE_ENV=production \
  SERVICE_HOST=0.0.0.0 \
  SERVICE_PORT=8788 \
  SERVICE_SANDBOX=auto \
  SERVICE_PACKAGE_PATH=/service/packages \
  SERVICE_FONT_PATHS=/service/fonts \
  SERVICE_WORK_DIRECTORY=/tmp/document-rendering-service
EXPOSE 8788
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8788/ready').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# No shell, so that SIGTERM reaches the backend, which then finishes its renders and ends.
CMD ["node", "backend/main.ts"]
