import { readFileSync } from 'node:fs'
import type { Bodies } from './bodies.ts'
import { formatTransfer } from './bulk-load.ts'
import type { Callers } from './callers.ts'
import { credentialHeader } from './load.ts'
import type { Credential } from './peer.ts'
import type { BodySize } from './upstream-contract.ts'
import type { Transfer } from './workloads.ts'

/** Requests with large bodies, formatted when they are first needed. */
export class Transfers {
  readonly #requests = new Map<string, Buffer>()
  readonly #bodies: Bodies
  readonly #callers: Callers

  constructor(bodies: Bodies, callers: Callers) {
    this.#bodies = bodies
    this.#callers = callers
  }

  request(transfer: Transfer, size: BodySize, credential: Credential): Buffer {
    const name = `${transfer} ${size} ${credential}`
    const known = this.#requests.get(name)
    if (known !== undefined) return known
    const body = readFileSync(this.#bodies.file(transfer === 'download' ? 'query' : `arrow-${size}`))
    const headers = credentialHeader(credential, this.#callers)
    const request = formatTransfer({ transfer, size, body, headers })
    this.#requests.set(name, request)
    return request
  }
}
