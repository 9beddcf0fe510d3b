import {
  factHeaders,
  type FactSource,
  type Operation,
  quoteForMessage,
  refusal,
  type RouteMatch,
  type StatedFacts,
} from '../../catalog-api/index.ts'
import type { JsonTransformer, OpenLevel } from '../json/json-transformer.ts'
import { findHeader, isObject } from '../../lib/index.ts'
import type { ReceivedHead } from '../downstream.ts'
import { type FactValue, respellWord } from '../facts/fact-values.ts'
import { getMember, type JsonObject } from '../facts/stated-facts.ts'

/*
 * Some facts have several sources, for old clients or in the interface itself, and a catalog may read any of them. The
 * authorized value is forwarded in all of them, so that no catalog reads another value, or none.
 */

/**
 * Repeats facts with several sources in all their sources in the head. Returns the query parameters to forward, and
 * headers to add; undefined if nothing changes.
 */
export function restateHead(route: RouteMatch, head: ReceivedHead, stated: StatedFacts) {
  const words = listRespelledWords(route)
  if (route.operation.factsWithSeveralSources.length === 0 && words.length === 0) return undefined
  const parameters = new Map(words)
  const headers: string[] = []
  for (const [value, { in: part, name }] of sourcesToRestate(route.operation, stated)) {
    const text = formatFactText(value)
    if (part === 'query' && !route.parameters.has(name)) parameters.set(name, text)
    const header = part === 'header' ? factHeaders[name] : undefined
    if (header !== undefined && findHeader(head.headers, header) === undefined)
      headers.push(header, escapeNonAscii(text))
  }
  if (parameters.size === 0 && headers.length === 0) return undefined
  return { parameters: new Map([...route.parameters, ...parameters]), headers }
}

/** Lists the modes in the query that catalogs may read as other ones, as they are forwarded. */
function listRespelledWords({ operation, parameters }: RouteMatch): readonly (readonly [string, string])[] {
  if (operation.modes.length === 0) return []
  return operation.facts.flatMap(([fact, sources]) =>
    sources.flatMap(({ in: part, name }) => {
      const text = part === 'query' ? parameters.get(name) : undefined
      if (typeof text !== 'string') return []
      const spelled = respellWord(operation, fact, text)
      return spelled === text ? [] : [[name, spelled] as const]
    }),
  )
}

/**
 * Repeats facts with several sources in all their sources in a body that is complete and not forwarded yet.
 * Throws InvalidInput (400) for a null member whose fact is stated elsewhere.
 */
export function restateBody(
  operation: Operation,
  stated: StatedFacts,
  members: JsonObject,
  json: JsonTransformer,
  query: OpenLevel | undefined,
): void {
  for (const [value, { in: part, name }] of sourcesToRestate(operation, stated)) {
    const [holder, object] =
      part === 'body' ? [members, json.root] : part === 'body.query' ? [members['query'], query] : []
    if (!isObject(holder) || object === undefined || getMember(holder, name) !== undefined) continue
    if (Object.hasOwn(holder, name)) {
      throw refusal(
        'conflicting_values',
        `${quoteForMessage(name)} is null in one place and ${quoteForMessage(formatFactText(value))} in another; omit the null`,
      )
    }
    json.addMember(object, name, value)
  }
}

function* sourcesToRestate(
  { factsWithSeveralSources }: Operation,
  stated: StatedFacts,
): Generator<readonly [FactValue, FactSource]> {
  for (const [fact, sources] of factsWithSeveralSources) {
    const value = stated[fact]
    if (value !== undefined) for (const source of sources) yield [value, source]
  }
}

function formatFactText(value: FactValue): string {
  if (typeof value === 'string') return value
  return JSON.stringify(value instanceof Map ? Object.fromEntries(value) : value)
}

/** Escapes JSON so that every reader of a header decodes it to the same text. */
function escapeNonAscii(json: string): string {
  return json.replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
