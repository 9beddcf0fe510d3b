import { headerDialects } from '../../catalog-api/headers.ts'
import type { RequestFacts } from '../../policy/conditions/authorization-request.ts'
import type { ReceivedHead } from '../received-head.ts'

/** Creates the facts that do not depend on the operation. Each is computed only if a condition reads it. */
export function createRequestFacts(head: ReceivedHead, now: Date): RequestFacts {
  return new HeadFacts(head, now)
}

/** A class: creating an object literal with getters takes microseconds for each request. */
class HeadFacts implements RequestFacts {
  readonly clientAddress: string
  readonly now: Date
  readonly #headers: readonly string[]
  #context: ReadonlyMap<string, string> | undefined

  constructor({ client, headers }: ReceivedHead, now: Date) {
    this.clientAddress = client
    this.now = now
    this.#headers = headers
  }

  get context(): ReadonlyMap<string, string> {
    return (this.#context ??= readContext(this.#headers))
  }
}

function readContext(headers: readonly string[]): ReadonlyMap<string, string> {
  const { context } = headerDialects.catalog
  const entries = new Map<string, string>()
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? ''
    if (name.startsWith(context)) entries.set(name.slice(context.length), headers[index + 1] ?? '')
  }
  return entries
}
