import { isIP } from 'node:net'
import { z } from 'zod'
import { hostNamePattern } from '../lib/index.ts'

/** Schema of the address that a server listens on: an IP address, or a name that resolves to one. */
export const listenHost = z.string().superRefine((host, context) => {
  const bare = /^\[(.+)\]$/.exec(host)?.[1] ?? ''
  if (isIP(host) !== 0 || hostNamePattern.test(host.toLowerCase())) return
  const message =
    isIP(bare) === 6
      ? `expected an address without brackets: ${JSON.stringify(bare)}`
      : 'expected an IP address or a host name, without a port: "0.0.0.0"'
  context.addIssue({ code: 'custom', message })
})

/** Where a server listens; port 0 picks a free one. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** Whether a server cannot listen on one address because of another one that listens on the other. */
export function isSameListenAddress(one: ListenAddress, other: ListenAddress): boolean {
  if (one.port !== other.port || one.port === 0) return false
  const [host, otherHost] = [normalizeHost(one.host), normalizeHost(other.host)]
  return host === otherHost || isAnyAddress(host) || isAnyAddress(otherHost)
}

/** Whether a URL leads to a server on this machine that listens on the address. */
export function leadsToAddress(url: string, { host, port }: ListenAddress): boolean {
  if (!URL.canParse(url)) return false
  const { hostname, port: stated, protocol } = new URL(url)
  const target = normalizeHost(hostname.replace(/^\[|\]$/g, ''))
  if (Number(stated || (protocol === 'https:' ? 443 : 80)) !== port) return false
  const own = normalizeHost(host)
  return target === own || (isAnyAddress(own) && (isAnyAddress(target) || isLoopback(target)))
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

function normalizeHost(host: string): string {
  const lowerCase = host.toLowerCase()
  return lowerCase === 'localhost' ? '127.0.0.1' : lowerCase
}

function isAnyAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}
