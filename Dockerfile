# syntax=docker/dockerfile:1
# One image for every role. It holds no Postgres of its own (`--omit=optional` leaves the embedded one out), so
# DATABASE_URL must be set. Writes to nothing but DATA_DIR: run it read-only, with a volume at /data.

FROM node:20-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --omit=dev
COPY bundle.js tsconfig.json ./
COPY app ./app
COPY cli ./cli
COPY command ./command
COPY console ./console
COPY demo ./demo
COPY domain ./domain
COPY mcp ./mcp
COPY migrations ./migrations
COPY projections ./projections
COPY query ./query
COPY shared ./shared
RUN node bundle.js

FROM node:20-bookworm-slim AS dependencies
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional

FROM node:20-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
WORKDIR /app
COPY --from=dependencies /build/node_modules ./node_modules
COPY --from=build /build/dist/bundle ./dist/bundle
COPY --from=build /build/console ./console
COPY package.json ./
# For a volume that its user may write to.
RUN mkdir /data && chown node:node /data
USER node
EXPOSE 3000
# Alive, not ready: with a database away the process waits for it, and a restart would not help.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/live`).then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))"]
# Without npm in between: the program gets SIGTERM itself and ends within 25 s.
CMD ["node", "dist/bundle/main.js"]
