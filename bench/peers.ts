import { nodeVersions, type NodeMajor } from './fetched-programs.ts'
import type { Peer } from './peer.ts'
import { caddy } from './peers/caddy.ts'
import { envoy } from './peers/envoy.ts'
import { gatewayOn, plugin } from './peers/gateway.ts'
import { haproxy } from './peers/haproxy.ts'
import { httpProxy } from './peers/http-proxy.ts'
import { nginx } from './peers/nginx.ts'
import { oathkeeper } from './peers/oathkeeper.ts'
import { traefik } from './peers/traefik.ts'

const gateways = Object.keys(nodeVersions).map((major) => gatewayOn(Number(major) as NodeMajor))

/** All measured servers, in the order of the columns. */
export const peers: readonly Peer[] = [
  ...gateways,
  plugin,
  httpProxy,
  envoy,
  haproxy,
  nginx,
  traefik,
  caddy,
  oathkeeper,
]
