import type { buildConnector } from 'undici'
import { openWithin, type SocketOpener, type OpenCallback } from './socket-opener.ts'
import { Agent as HttpAgent, type AgentOptions } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'

/** Creates the `connect` option of undici's clients. The timeout includes the proxy and TLS. */
export function createUndiciConnector(opener: SocketOpener, timeoutMs: number): buildConnector.connector {
  return ({ protocol, hostname, port }, callback) => {
    const isSecure = protocol === 'https:'
    const target = { isSecure, host: hostname, port: Number(port) || (isSecure ? 443 : 80) }
    openWithin(opener, timeoutMs, target, callback)
  }
}

interface RequestedHost {
  readonly host?: string | null | undefined
  readonly port?: string | number | null | undefined
}

/** Creates an agent for clients on node:http and node:https. The timeout includes the proxy and TLS. */
export function createHttpAgent(
  protocol: string,
  opener: SocketOpener,
  timeoutMs: number,
  options: AgentOptions,
): HttpAgent {
  const isSecure = protocol === 'https:'
  const agent = isSecure ? new HttpsAgent(options) : new HttpAgent(options)
  return Object.assign(agent, {
    createConnection({ host, port }: RequestedHost, callback: OpenCallback) {
      const name = (host ?? 'localhost').replace(/^\[(.*)\]$/, '$1')
      const target = { isSecure, host: name, port: Number(port) || (isSecure ? 443 : 80) }
      openWithin(opener, timeoutMs, target, callback)
    },
  })
}
