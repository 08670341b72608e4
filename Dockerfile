# syntax=docker/dockerfile:1
# One image for every role, without Postgres: DATABASE_URL must be set. It writes to /data and /tmp alone: run it
# read-only, with a volume at /data, and with an init process (`docker run --init`), so that its health check can end a
# process that hangs.

FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --omit=dev
COPY bundle.js tsconfig.json ./
COPY app ./app
COPY cli ./cli
COPY client ./client
COPY command ./command
COPY console ./console
COPY demo ./demo
COPY domain ./domain
COPY mcp ./mcp
COPY migrations ./migrations
COPY projections ./projections
COPY query ./query
COPY shared ./shared
# The bundles contain most packages: the image gets the others alone, and no source maps, which only debuggers read.
RUN node bundle.js --runtime && node console/build.js && find dist -name '*.map' -delete && rm -f dist/bundle/states.json

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
WORKDIR /app
COPY --from=build /build/dist/runtime/node_modules ./node_modules
COPY --from=build /build/dist/bundle ./dist/bundle
COPY --from=build /build/dist/console ./dist/console
COPY --from=build /build/dist/api-reference ./dist/api-reference
COPY docs/guides ./docs/guides
COPY app/api-document/examples.json ./app/api-document/
COPY deploy/health.js ./deploy/health.js
COPY package.json ./
# For a volume that its user may write to.
RUN mkdir /data && chown node:node /data
USER node
EXPOSE 3000
VOLUME /data
# Alive, not ready: with a database away the process waits for it, and a restart would not help.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["node", "deploy/health.js"]
# Without npm in between: the program gets SIGTERM itself and ends within 25 s.
CMD ["node", "dist/bundle/main.js"]
