# Three images, each by its target: `edge`, `backend`, which is also the default, and `all-in-one` to try the service:
#   docker build --target all-in-one -t document-rendering-all-in-one .
# Settings and secrets come from the environment of the container. All run as an ordinary user, and on a read-only root.
#
# Debian 13 because its util-linux 2.41 has a setpriv with Landlock. That is the sandbox for hosts without user namespaces:
# Docker's default seccomp profile disables them. SERVICE_SANDBOX=auto takes bubblewrap where it runs, else Landlock.

# Base images by digest, those of all platforms together. RELEASING.md says how to move them: they get no updates by themselves.
ARG TYPST_IMAGE=ghcr.io/typst/typst:0.15.1@sha256:032e292249bcd378480cc7c142cfa324b63ef8aadeb88d7e7230320c4c9c422f
ARG NODE_IMAGE=node:26.10.0-trixie-slim@sha256:ec7758ee051e457b468b32bde57b0879010b325bb9862718e9615225ce4aaae1
ARG DEBIAN_IMAGE=debian:trixie-slim@sha256:a29215f6a35e51e22adffa17f89e9d2ef06214e64a2bad10d765c46aea49f11f

FROM ${TYPST_IMAGE} AS typst

FROM ${NODE_IMAGE} AS build
RUN apt-get update \
  && apt-get install -y --no-install-recommends binutils ca-certificates
# Without its symbols, Node is a quarter smaller.
RUN strip -o /node /usr/local/bin/node
WORKDIR /service
COPY package.json package-lock.json .npmrc ./

FROM build AS edge-build
# With their manifests: npm installs what the workspaces need that it finds.
COPY clients clients
# The program of esbuild is a package of its own and needs no install script.
RUN npm ci --ignore-scripts
# The playground's compiler takes its fonts from Typst.
COPY --from=typst /bin/typst /usr/local/bin/typst
COPY tsconfig.json LICENSE ./
COPY rules rules
COPY protocol protocol
COPY typst typst
COPY edge edge
COPY examples examples
# Two pages that the playground leads to.
COPY docs docs
COPY scripts scripts
RUN node scripts/build-edge.ts

FROM build AS packages
# No optional ones, such as the TypeScript compiler for valibot, or a second Node.
# Type declarations and source maps are half of the rest.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --workspaces=false \
  && find node_modules -type f \( -name '*.map' -o -name '*.md' -o -name '*.ts' -o -name '*.cts' -o -name '*.mts' \) -delete

# What the images have in common.
FROM ${DEBIAN_IMAGE} AS system
# Nobody becomes another user here, so no program needs a file mode that makes it one.
RUN apt-get update \
  && apt-get install -y --no-install-recommends tini \
  && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
  && find / -xdev -type f -perm /6000 -exec chmod a-s {} +
# bubblewrap leaves a process to process 1 with each render, and Node waits for no process of others. tini passes signals on, and ends as its program does; with -s it also waits where an engine's init or pause is process 1.
ENTRYPOINT ["tini", "-s", "--"]

# Node, which both programs run on. libatomic1 is for it.
FROM system AS node
RUN apt-get update \
  && apt-get install -y --no-install-recommends libatomic1 \
  && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
COPY --from=build /node /usr/local/bin/node

FROM node AS edge
WORKDIR /service
COPY --from=edge-build /service/dist/edge ./
# By its number: Kubernetes compares it with `runAsNonRoot`.
USER 1000:1000
# A line of JSON per request on standard output. The limits are those of the backend below.
ENV SERVICE_LOG_REQUESTS=json \
  SERVICE_MAX_INLINE_FILES=256 \
  SERVICE_MAX_INLINE_FILE_BYTES=2097152
EXPOSE 8787
# Nothing but bash speaks HTTP here. Podman keeps a health check only in an image that is built with `--format docker`.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8787 && printf 'GET /health HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && grep -q '^HTTP/1.1 200' <&3"]
# On SIGTERM it answers what is in flight and ends.
CMD ["node", "start.mjs"]

FROM node AS backend-base
RUN apt-get update \
  && apt-get install -y --no-install-recommends bubblewrap \
  && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
WORKDIR /service
COPY --from=typst /bin/typst /usr/local/bin/typst
COPY --from=packages /service/node_modules node_modules
COPY --from=edge-build /service/dist/edge/THIRD-PARTY-LICENSES.txt ./
COPY package.json LICENSE ./
COPY rules rules
COPY protocol protocol
COPY typst typst
COPY backend backend
# What `npm run packages` and `npm run fonts` have fetched, if anything.
COPY vendor/packages packages
COPY vendor/fonts fonts
USER 1000:1000
# In a container nothing removes old files from /tmp, and any user may write there, including one given by
# `docker run --user`. It also works with a read-only root and a tmpfs, which must not be noexec if Typst loads shared
# libraries. The limits are for requests that bring Typst packages (docs/packages-and-fonts.md#packages-of-requests).
ENV NODE_ENV=production \
  SERVICE_MAX_INLINE_FILES=256 \
  SERVICE_MAX_INLINE_FILE_BYTES=2097152 \
  SERVICE_SANDBOX=auto \
  SERVICE_PACKAGE_PATH=/service/packages \
  SERVICE_FONT_PATHS=/service/fonts \
  SERVICE_WORK_DIRECTORY=/tmp/document-rendering-service

# An edge and a backend in one container, to try the service. It keeps nothing.
FROM backend-base AS all-in-one
COPY --from=edge-build /service/dist/edge dist/edge
COPY edge/platform/node/settings.ts edge/platform/node/
COPY scripts/start/all-in-one.ts scripts/start/welcome.ts scripts/start/
EXPOSE 8787
# Answers 200 when a render through the edge has worked.
HEALTHCHECK --interval=10s --timeout=8s --start-period=10s \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8789 && printf 'GET / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && grep -q '^HTTP/1.1 200' <&3"]
CMD ["node", "scripts/start/all-in-one.ts"]

FROM backend-base AS backend
# All addresses, of IPv4 as well: a cluster may have IPv6 alone.
ENV SERVICE_HOST=:: \
  SERVICE_PORT=8788
EXPOSE 8788
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8788 && printf 'GET /ready HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && grep -q '^HTTP/1.1 200' <&3"]
# On SIGTERM the backend finishes its renders and ends. Its heap never needs more, whatever is set: bodies are outside of it.
CMD ["node", "--max-old-space-size=256", "backend/main.ts"]
