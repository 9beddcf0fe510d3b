import { findHeader, isObject } from '../../lib/index.ts'
import {
  type CatalogError,
  describeFactSource,
  factHeaders,
  type FactName,
  type FactSource,
  foldName,
  headerDialects,
  isReferenceSwitch,
  type Operation,
  quoteForMessage,
  refusal,
  reservedContextPrefix,
  type StatedFacts,
} from '../../catalog-api/index.ts'
import type { KnownFacts, RequestFacts } from '../../policy/index.ts'
import type { Matched } from '../context.ts'
import {
  isSameFactValue,
  parseFactMember,
  parseFactText,
  formatFactForMessage,
  type FactValue,
} from './fact-values.ts'
import type { ReceivedHead } from '../downstream.ts'
import { allowedRequestHeaders } from '../../config/index.ts'

export type JsonObject = Readonly<Record<string, unknown>>

type MutableFacts = { -readonly [Name in FactName]?: StatedFacts[Name] }

type ReadSource = (fact: FactName, source: FactSource) => FactValue | undefined

/**
 * Reads the facts in the head of a request. Facts that the body may state are pending, unless the head states them.
 * Throws InvalidInput (400) for a value that a fact cannot have, or if two sources disagree.
 */
export function readHeadFacts(request: Matched): KnownFacts {
  const { operation } = request.route
  const read = readBodyFacts(request, {})
  if (!request.head.hasBody || operation.body === 'arrow') return read
  const isPending = ([name, sources]: Operation['facts'][number]): boolean =>
    read.stated[name] === undefined && sources.some(({ in: part }) => part !== 'query' && part !== 'header')
  return { ...read, pendingFacts: new Set(operation.facts.filter(isPending).map(([name]) => name)) }
}

/** Reads the facts in the head and in the members of the body. Throws as `readHeadFacts` does. */
export function readBodyFacts(request: Matched, members: JsonObject): KnownFacts {
  return { stated: readFacts(request.route.operation, createSourceReader(request, members)) }
}

/** Reads the facts of a batch entry, from its own members only. Throws as `readHeadFacts` does. */
export function readEntryFacts(operation: Operation, entry: JsonObject, what: string): KnownFacts {
  const stated = readFacts(operation, (fact, { in: part, name }) => {
    if (part !== 'body') return undefined
    return parseFactMember(operation, fact, getMember(entry, name), `"${what}.${name}" in the body`)
  })
  return { stated }
}

/** Returns an own member; undefined for null and for inherited ones. */
export function getMember(members: unknown, name: string): unknown {
  return isObject(members) && Object.hasOwn(members, name) ? (members[name] ?? undefined) : undefined
}

function createSourceReader({ route, head }: Matched, members: JsonObject): ReadSource {
  const { operation, parameters } = route
  const fromHead = (fact: FactName, source: FactSource): FactValue | undefined => {
    const text =
      source.in === 'query'
        ? parameters.get(source.name)
        : findHeader(head.headers, factHeaders[source.name] ?? '')
    if (typeof text !== 'string') return undefined
    const where = describeFactSource(source)
    // Readers decode non-ASCII bytes in a header as Latin-1 or as UTF-8.
    if (source.in === 'header' && !/^[\x20-\x7e]*$/.test(text))
      throw refusal('invalid_body', `${where} has a non-ASCII character; escape it in JSON`)
    return parseFactText(operation, fact, text, where)
  }
  return (fact, source) => {
    if (source.in === 'query' || source.in === 'header') return fromHead(fact, source)
    const value = getMember(source.in === 'body' ? members : getMember(members, 'query'), source.name)
    return value === undefined
      ? undefined
      : parseFactMember(operation, fact, value, describeFactSource(source))
  }
}

function readFacts(operation: Operation, read: ReadSource): StatedFacts {
  let facts: MutableFacts | undefined
  for (const [fact, sources] of operation.facts) {
    let first: { readonly source: FactSource; readonly value: FactValue } | undefined
    for (const source of sources) {
      const value = source.in === 'properties' ? readProperty(facts, source.name) : read(fact, source)
      if (value === undefined) continue
      if (first === undefined) first = { source, value }
      else if (!isSameFactValue(first.value, value)) {
        throw refusal(
          'conflicting_values',
          `${describeFactSource(first.source)} is ${formatFactForMessage(first.value)} and ${describeFactSource(source)} is ` +
            `${formatFactForMessage(value)}; they must not differ`,
        )
      }
    }
    // The parsers return a value of the type of the fact, which the compiler cannot relate.
    if (first !== undefined) facts = Object.assign(facts ?? {}, { [fact]: first.value })
  }
  if (facts === undefined) return {}
  assertNoReferenceSwitch(facts.properties, 'the properties')
  assertNoReferenceSwitch(facts.storageOptions, 'the storage options')
  // Some catalogs take it for their own folder, which dropping the table would delete.
  if (facts.location === '') throw refusal('invalid_fact', 'the location is empty; name one, or omit it')
  return facts
}

/** Some catalogs take a fact from the properties, by a key in any case. */
function readProperty(facts: StatedFacts | undefined, name: string): string | undefined {
  for (const key of facts?.properties?.keys() ?? []) {
    if (key === name || key.toUpperCase().toLowerCase() !== name) continue
    throw refusal(
      'conflicting_values',
      `the key ${quoteForMessage(key)} among the properties is ambiguous; write "${name}"`,
    )
  }
  return facts?.properties?.get(name)
}

/** Some catalogs read options of their engine there. */
function assertNoReferenceSwitch(map: ReadonlyMap<string, string> | undefined, where: string): void {
  for (const key of map?.keys() ?? []) {
    if (!isReferenceSwitch(foldName(key))) continue
    throw refusal(
      'invalid_fact',
      `the key ${quoteForMessage(key)} among ${where} could let the catalog read further objects; omit it`,
    )
  }
}

/**
 * The facts that do not depend on the operation. The context is computed only if a condition reads it. A class: creating
 * an object literal with getters takes microseconds for each request.
 */
export class HeadFacts implements RequestFacts {
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

/** Some catalogs and their clients turn an entry with such a key into the header named after the prefix. */
const headerPrefix = /^headers?\./
const contextPrefixes = [headerDialects.catalog.context, headerDialects.lance.context]

/** Maximum number of nested prefixes: no legitimate key has more, and parsing them takes time. */
const maxPrefixDepth = 4

/**
 * Maps a context key to the equivalent header (lower case): `Trace` and `headers.X-Lance-Ctx-Trace` are both
 * `x-catalog-ctx-trace`. Throws InvalidInput (400) for a key that is reserved for the gateway, or that could become a header
 * which callers may not send.
 */
export function contextKeyToHeader(key: string): string {
  // Upper case first: the long s becomes s, as it does for readers that fold by Unicode.
  let name = key.toUpperCase().toLowerCase().trim()
  let isHeader = false
  for (let depth = 0; ; depth += 1) {
    const header = headerPrefix.exec(name)?.[0]
    const prefix = header ?? contextPrefixes.find((prefix) => name.startsWith(prefix))
    if (prefix === undefined) break
    if (depth === maxPrefixDepth) throw headerKeyError(key, name)
    isHeader = header !== undefined
    name = name.slice(prefix.length).trim()
  }
  if (isHeader) {
    if (!allowedRequestHeaders.has(name)) throw headerKeyError(key, name)
    return name
  }
  if (name.startsWith(reservedContextPrefix))
    throw refusal(
      'invalid_context_key',
      `the context key ${quoteForMessage(key)} is reserved for the gateway`,
    )
  return headerDialects.catalog.context + name
}

function headerKeyError(key: string, name: string): CatalogError {
  return refusal(
    'invalid_context_key',
    `the context key ${quoteForMessage(key)} names ${quoteForMessage(name)}, which some catalogs read as a header; send it as a header`,
  )
}
