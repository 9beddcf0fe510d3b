import type { Peer } from './peer.ts'
import { gateway } from './peers/gateway.ts'
import { haproxy, haproxyForBulk } from './peers/haproxy.ts'
import { httpProxy } from './peers/http-proxy.ts'
import { nginx, nginxLua } from './peers/nginx.ts'

export const peers: readonly Peer[] = [gateway, haproxy, haproxyForBulk, nginx, nginxLua, httpProxy]
