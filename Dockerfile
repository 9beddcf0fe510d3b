# Two images, of the gateway and of the bundled catalog, with nothing but what each needs at run time; for amd64 and arm64:
#   docker buildx build --platform linux/amd64,linux/arm64 --target gateway --tag catalog-gateway .
#   docker buildx build --platform linux/amd64,linux/arm64 --target catalog --tag catalog-gateway-catalog .
FROM node:24-bookworm-slim AS build
WORKDIR /catalog-gateway
COPY package.json package-lock.json ./
COPY src/backend/package.json ./src/backend/
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build

# What an image holds of others is written as CycloneDX, for whoever scans it: all that is left, where nothing else is wanted.
FROM build AS gateway-packages
# Installations add the client of shared limits if they need it; an image cannot.
RUN npm pkg set --json "dependencies.@redis/client=$(npm pkg get devDependencies.@redis/client)"
RUN npm pkg delete workspaces devDependencies peerDependencies.@catalog-gateway/catalog peerDependencies.@redis/client
RUN npm prune --omit=dev --ignore-scripts
RUN npm sbom --sbom-format=cyclonedx --sbom-type=application > sbom.json

FROM build AS catalog-packages
RUN npm prune --omit=dev --ignore-scripts
RUN npm pkg delete devDependencies --workspaces --include-workspace-root
RUN npm sbom --sbom-format=cyclonedx --sbom-type=application > sbom.json
RUN node -p "require('node:tls').rootCertificates.join('\n')" > ca-certificates.crt

FROM node:24-bookworm-slim AS program
LABEL org.opencontainers.image.licenses=Apache-2.0
ENV NODE_ENV=production
# By default, node sizes the young generation by the memory of the machine: up to 100 MB more, and hardly faster.
ENV NODE_OPTIONS=--max-semi-space-size=8
WORKDIR /app
COPY --from=build /catalog-gateway/dist ./dist
COPY policies ./policies
COPY LICENSE ./
RUN ln -s /app/dist/main.js /usr/local/bin/catalog-gateway
# A number, since a cluster cannot tell that a name is not that of root. Nothing in the image belongs to it.
USER 10001:10001
# The program ends by itself on SIGTERM, also as the first process of a container.
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["--help"]

FROM program AS catalog
LABEL org.opencontainers.image.title="the bundled catalog of catalog-gateway"
# The engine of tables trusts the authorities of the system, of which the slim image has none.
COPY --from=catalog-packages /catalog-gateway/ca-certificates.crt /etc/ssl/certs/
COPY --from=catalog-packages /catalog-gateway/package.json /catalog-gateway/sbom.json ./
COPY --from=catalog-packages /catalog-gateway/node_modules ./node_modules
COPY --from=catalog-packages /catalog-gateway/src/backend/package.json ./src/backend/
COPY --from=catalog-packages /catalog-gateway/src/backend/dist ./src/backend/dist
EXPOSE 2335

FROM program AS gateway
LABEL org.opencontainers.image.title=catalog-gateway
COPY --from=gateway-packages /catalog-gateway/package.json /catalog-gateway/sbom.json ./
COPY --from=gateway-packages /catalog-gateway/node_modules ./node_modules
EXPOSE 2333 2334
