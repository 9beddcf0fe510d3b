# The program with nothing but what it needs at run time, for amd64 and arm64:
#   docker buildx build --platform linux/amd64,linux/arm64 --tag catalog-gateway .
FROM node:24-bookworm-slim AS build
WORKDIR /catalog-gateway
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build
RUN npm prune --omit=dev --ignore-scripts
# What the image holds of others, as CycloneDX, for whoever scans it: all that is left, where nothing else is wanted.
RUN npm pkg delete devDependencies
RUN npm sbom --sbom-format=cyclonedx --sbom-type=application > sbom.json

FROM node:24-bookworm-slim
ENV NODE_ENV=production
# By default, node sizes the young generation by the memory of the machine: up to 100 MB more, and hardly faster.
ENV NODE_OPTIONS=--max-semi-space-size=8
WORKDIR /app
COPY --from=build /catalog-gateway/package.json /catalog-gateway/sbom.json ./
COPY --from=build /catalog-gateway/node_modules ./node_modules
COPY --from=build /catalog-gateway/dist ./dist
COPY policies ./policies
COPY LICENSE ./
RUN ln -s /app/dist/main.js /usr/local/bin/catalog-gateway
# A number, since a cluster cannot tell that a name is not that of root. Nothing in the image belongs to it.
USER 10001:10001
EXPOSE 2333 2334
# The program ends by itself on SIGTERM, also as the first process of a container.
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["--help"]
