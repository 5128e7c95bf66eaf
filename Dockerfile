# The jackfield command in a container, as it is on the registry:
#
#   docker build --build-arg VERSION=0.1.0 --tag jackfield - < Dockerfile
#
# docs/container.md describes how to use it.

FROM node:24-alpine AS install
ARG VERSION
RUN npm install --prefix /opt/jackfield --omit=dev --ignore-scripts --no-audit --no-fund "jackfield@${VERSION:?set it with --build-arg VERSION=<version>}"
# Only what runs: source maps, declarations and sources are for development.
RUN find /opt/jackfield/node_modules \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -type f -delete

# Not a distroless image: most stdio servers are started with npx, which needs npm and a shell.
FROM node:24-alpine
RUN apk add --no-cache tini
COPY --from=install /opt/jackfield /opt/jackfield
RUN ln -s /opt/jackfield/node_modules/.bin/jackfield /usr/local/bin/jackfield && mkdir -p /data /work /home/node/.config/jackfield && chown -R node:node /data /work /home/node
ENV NODE_ENV=production \
    XDG_DATA_HOME=/data \
    JACKFIELD_DAEMON=off
USER node
WORKDIR /work
VOLUME /data
# Servers that stdio clients start end with their parents; tini collects what they leave.
ENTRYPOINT ["/sbin/tini", "--", "jackfield"]
CMD ["--help"]
