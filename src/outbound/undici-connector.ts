import type { buildConnector } from 'undici'
import { toTarget } from './proxies.ts'
import type { SocketOpener, OpenCallback } from './socket-opener.ts'
import { Agent as HttpAgent, type AgentOptions } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'

/** Creates the `connect` option of undici's clients. The timeout includes the proxy and TLS. */
export function createUndiciConnector(opener: SocketOpener, timeoutMs: number): buildConnector.connector {
  return (url, callback) => void opener.open(toTarget(url), timeoutMs, callback)
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
  const agent = protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options)
  return Object.assign(agent, {
    createConnection({ host, port }: RequestedHost, callback: OpenCallback) {
      const target = toTarget({ protocol, hostname: host ?? 'localhost', port: String(port ?? '') })
      opener.open(target, timeoutMs, callback)
    },
  })
}
