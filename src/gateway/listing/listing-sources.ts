import { InterfaceError, refusal } from '../../interface/errors.ts'
import {
  assertIdentifier,
  assertSeparable,
  parseIdentifier,
  type Identifier,
} from '../../interface/identifiers.ts'
import type { Target } from '../../interface/target.ts'
import { compareIdentifiers, type ListingSource, type SourcePage } from './listing-page.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Upstreams } from '../upstream/upstreams.ts'

/** Reads what an upstream answers to an operation. */
export type ReadAnswer = (upstream: Upstream, target: Target) => Promise<Readonly<Record<string, unknown>>>

/**
 * What a listing is made of: what the upstream of the namespace lists there, less what lies at another one, and the
 * names that lead to where others begin, whether that upstream has such namespaces or not. All tables are what each
 * upstream lists as such, less what lies at another one.
 */
export function listingSources(
  meaning: Target,
  upstreams: Upstreams,
  read: ReadAnswer,
): readonly ListingSource[] {
  const { lists } = meaning.operation
  if (lists === 'all tables') {
    return upstreams.all.map((upstream) => allTablesOf(upstream, meaning, upstreams, read))
  }
  const leadingOn = upstreams.leadingOnFrom(meaning.id)
  const own = childrenOf(upstreams.of(meaning.id), meaning, upstreams, read)
  if (leadingOn.length === 0) return [own]
  const elsewhere = new Set(leadingOn)
  const rest: ListingSource = {
    name: own.name,
    // What other upstreams hold beneath is there, also where this one has no such namespace.
    read: (token, size) => own.read(token, size).catch(emptyWhereMissing),
    identify: (name) => (elsewhere.has(name) ? undefined : own.identify(name)),
  }
  return lists === 'namespaces' ? [rest, fixedNames(meaning.id, leadingOn)] : [rest]
}

function allTablesOf(
  upstream: Upstream,
  meaning: Target,
  upstreams: Upstreams,
  read: ReadAnswer,
): ListingSource {
  const { delimiter } = upstream
  return {
    name: upstream.name,
    // No id that can be written there has a part that holds its delimiter: no name can pass for the id of another.
    read: (token, size) => readPage(read, upstream, { ...meaning, delimiter }, token, size),
    identify: (name) => idAt(upstream, upstreams, () => parseIdentifier(name, delimiter)),
  }
}

function childrenOf(
  upstream: Upstream,
  meaning: Target,
  upstreams: Upstreams,
  read: ReadAnswer,
): ListingSource {
  return {
    name: upstream.name,
    read: (token, size) => readPage(read, upstream, meaning, token, size),
    identify: (name) => idAt(upstream, upstreams, () => assertIdentifier([...meaning.id, name])),
  }
}

/** The name of an upstream begins with no dash. */
const fixedName = '-'

function fixedNames(namespace: Identifier, names: readonly string[]): ListingSource {
  const sorted = names.toSorted((one, other) => compareIdentifiers([one], [other]))
  return {
    name: fixedName,
    read: () => Promise.resolve({ names: sorted, next: undefined }),
    identify: (name) => [...namespace, name],
  }
}

/** The id, where a request for it could be written and would come to that upstream. */
function idAt(upstream: Upstream, upstreams: Upstreams, identify: () => Identifier): Identifier | undefined {
  try {
    const id = identify()
    assertSeparable(id, upstream.separators)
    return id.length > 0 && upstreams.of(id) === upstream ? id : undefined
  } catch (error) {
    if (error instanceof InterfaceError) return undefined
    throw error
  }
}

async function readPage(
  read: ReadAnswer,
  upstream: Upstream,
  meaning: Target,
  token: string | undefined,
  size: number,
): Promise<SourcePage> {
  const parameters = new Map(meaning.parameters).set('limit', String(size))
  parameters.delete('page_token')
  if (token !== undefined) parameters.set('page_token', token)
  const answer = await read(upstream, { ...meaning, parameters })
  const names = answer[meaning.operation.lists === 'namespaces' ? 'namespaces' : 'tables']
  const next = answer['page_token'] ?? ''
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string') || typeof next !== 'string') {
    throw malformed('the answer of the catalog is not a listing')
  }
  if (next !== '' && next === token) throw malformed('the listing of the catalog leads back to the same page')
  return { names, next: next === '' ? undefined : next }
}

function emptyWhereMissing(error: unknown): SourcePage {
  if (error instanceof InterfaceError && error.kind === 'NamespaceNotFound')
    return { names: [], next: undefined }
  throw error
}

function malformed(message: string): InterfaceError {
  return refusal('upstream_response_invalid', message)
}
