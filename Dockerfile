# The backend. The edge is a Worker and needs no image (see README.md).
#
# Debian 13 because its util-linux 2.41 has a setpriv with Landlock. That is the sandbox for hosts without user namespaces:
# Docker's default seccomp profile disables them. SERVICE_SANDBOX=auto takes bubblewrap where it runs, else Landlock.

FROM ghcr.io/typst/typst:0.15.1 AS typst

FROM node:26-trixie-slim AS packages
WORKDIR /service
COPY package.json package-lock.json .npmrc ./
# No install scripts: none is needed here, and one would install a second Node.
RUN npm ci --omit=dev --ignore-scripts

FROM node:26-trixie-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends bubblewrap util-linux \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /service
COPY --from=typst /bin/typst /usr/local/bin/typst
COPY --from=packages /service/node_modules node_modules
COPY package.json LICENSE ./
COPY rules rules
COPY backend backend
USER node
# In a container nothing removes old files from /tmp, and any user may write there, including one given by
# `docker run --user`. It also works with a read-only root and a tmpfs, which must not be noexec if Typst loads shared
# libraries.
ENV NODE_ENV=production \
  SERVICE_HOST=0.0.0.0 \
  SERVICE_PORT=8788 \
  SERVICE_SANDBOX=auto \
  SERVICE_WORK_DIRECTORY=/tmp/document-rendering-service
EXPOSE 8788
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8788/ready').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# No shell, so that SIGTERM reaches the backend, which then finishes its renders and ends.
CMD ["node", "backend/main.ts"]
