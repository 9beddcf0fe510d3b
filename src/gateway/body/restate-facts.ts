import {
  type FactSource,
  headerDialects,
  type Operation,
  quoteForMessage,
  refusal,
  type RouteMatch,
  type StatedFacts,
} from '../../catalog-api/index.ts'
import type { BodyChecker } from './body-checker.ts'
import type { OpenObject } from '../json/json-transformer.ts'
import { findHeader, isObject } from '../../lib/index.ts'
import type { ReceivedHead } from '../downstream.ts'
import { type FactValue, respellWord } from '../facts/fact-values.ts'
import { getMember } from '../facts/stated-facts.ts'

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
  const parameters = new Map([...route.parameters, ...words])
  const added: string[] = []
  for (const [value, source] of sourcesToRestate(route.operation, stated)) {
    if (source.in === 'query' && !parameters.has(source.name))
      parameters.set(source.name, formatFactText(value))
    if (source.in === 'header') {
      const name =
        source.name === 'location' ? headerDialects.catalog.location : headerDialects.catalog.properties
      if (findHeader(head.headers, name) === undefined)
        added.push(name, escapeNonAscii(formatFactText(value)))
    }
  }
  return parameters.size === route.parameters.size && added.length === 0 && words.length === 0
    ? undefined
    : { parameters, headers: added }
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
export function restateBody(operation: Operation, stated: StatedFacts, checker: BodyChecker): void {
  const { members, json } = checker
  for (const [value, source] of sourcesToRestate(operation, stated)) {
    if (source.in === 'body') add(members, json.root, source, value)
    if (source.in === 'body.query') add(getMember(members, 'query'), checker.getQueryObject(), source, value)
  }

  function add(
    holder: unknown,
    object: OpenObject | undefined,
    { name }: FactSource,
    value: FactValue,
  ): void {
    if (object === undefined || holder === undefined || getMember(holder, name) !== undefined) return
    if (isObject(holder) && Object.hasOwn(holder, name)) {
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
