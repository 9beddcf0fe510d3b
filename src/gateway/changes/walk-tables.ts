import { CatalogError, errorCodes } from '../../catalog-api/catalog-error.ts'
import { assertIdentifier, assertSeparable, type Identifier } from '../../catalog-api/identifiers.ts'
import { isListOfStrings } from '../../lib/json/is-list-of-strings.ts'
import { getMember } from '../facts/stated-facts.ts'
import { ownOperations } from '../upstream/own-operations.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import type { SendGatewayRequest } from './send-gateway-request.ts'

const pageSize = 1_000
/** Bounds the namespaces and the pages of one walk. */
const maxPages = 10_000

const listings = { tables: ownOperations.listTables, namespaces: ownOperations.listNamespaces }

/**
 * Lists the tables of an upstream, namespace by namespace: those that a request could name and that would be sent to this
 * upstream. Throws what `send` throws, and Error if a listing fails or there are too many pages.
 */
export async function* walkTables(
  upstream: Upstream,
  upstreams: Pick<Upstreams, 'forId'>,
  send: SendGatewayRequest,
): AsyncGenerator<Identifier, void> {
  let pages = 0
  const namespaces = [...(upstream.namespaces ?? [[]])]
  for (let namespace = namespaces.shift(); namespace !== undefined; namespace = namespaces.shift()) {
    yield* list('tables', namespace)
    for await (const child of list('namespaces', namespace)) namespaces.push(child)
  }

  async function* list(
    member: keyof typeof listings,
    namespace: Identifier,
  ): AsyncGenerator<Identifier, void> {
    let token: string | undefined
    do {
      if (++pages > maxPages) throw new Error(`its listings have more than ${maxPages} pages`)
      const page = await readPage(member, namespace, token)
      for (const name of page.names) {
        const id = [...namespace, name]
        if (isOfUpstream(id)) yield id
      }
      if (page.next === token) return
      token = page.next
    } while (token !== undefined)
  }

  async function readPage(member: keyof typeof listings, id: Identifier, token: string | undefined) {
    const parameters = new Map([['limit', String(pageSize)]])
    if (token !== undefined) parameters.set('page_token', token)
    const operation = listings[member]
    const { status, body } = await send({ operation, id, parameters })
    const isRemoved = status === 404 && getMember(body, 'code') === errorCodes.NamespaceNotFound.code
    // The root of some catalogs cannot have tables.
    if (isRemoved || (status === 400 && member === 'tables')) return { names: [], next: undefined }
    const names = getMember(body, member)
    if (status !== 200 || !isListOfStrings(names))
      throw new Error(`the upstream returned status ${status} to ${operation.name}`)
    const next = getMember(body, 'page_token')
    return { names, next: typeof next === 'string' && next !== '' ? next : undefined }
  }

  function isOfUpstream(id: Identifier): boolean {
    try {
      assertSeparable(assertIdentifier(id), upstream.separators)
      return upstreams.forId(id) === upstream
    } catch (error) {
      if (error instanceof CatalogError) return false
      throw error
    }
  }
}
