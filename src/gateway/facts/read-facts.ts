import { factHeaders } from '../../interface/headers.ts'
import { describePlace, type FactName, type FactPlace, type StatedFacts } from '../../interface/facts.ts'
import { refusal } from '../../interface/errors.ts'
import { show } from '../../interface/identifiers.ts'
import type { Operation } from '../../interface/operations.ts'
import {
  isInBody,
  knownFacts,
  nothingStated,
  unreadFacts,
  type ReadFacts,
} from '../../policy/operation-facts.ts'
import type { Matched } from '../context.ts'
import { isSameFact, readMember, readText, showFact, type FactValue } from './fact-values.ts'

/** The members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>

/** A value, and the place that states it. */
interface Statement {
  readonly place: FactPlace
  readonly value: FactValue
}

type ReadPlace = (fact: FactName, place: FactPlace) => FactValue | undefined

/**
 * The facts that the head of a request states. Facts that its body may state are pending, unless the head states them.
 * Throws InvalidInput (400) for a value that a fact cannot have, or if two places disagree.
 */
export function readHeadFacts(request: Matched): ReadFacts {
  const { operation } = request.route
  const stated = readFacts(operation, readerOf(request, undefined))
  const mayStateMore = request.head.hasBody && operation.body !== 'arrow'
  return mayStateMore ? withPending(operation, stated) : knownFacts(stated)
}

/**
 * The facts that a request states in its head and in the members of its body that were read. If these are not all,
 * facts that the rest may state are pending. Throws as `readHeadFacts` does.
 */
export function readBodyFacts(request: Matched, members: Members, isWhole: boolean): ReadFacts {
  const { operation } = request.route
  const stated = readFacts(operation, readerOf(request, members))
  return isWhole ? knownFacts(stated) : withPending(operation, stated)
}

function withPending(operation: Operation, stated: StatedFacts): ReadFacts {
  if (stated === nothingStated) return unreadFacts(operation)
  const isPending = ([name, places]: Operation['facts'][number]): boolean =>
    stated[name] === undefined && places.some(isInBody)
  return { stated, pending: new Set(operation.facts.filter(isPending).map(([name]) => name)) }
}

/** The facts of an entry of a batch: only what its own members state. Throws as `readHeadFacts` does. */
export function readEntryFacts(operation: Operation, entry: Members, what: string): ReadFacts {
  return knownFacts(
    readFacts(operation, (fact, { in: part, name }) => {
      if (part !== 'body') return undefined
      return readMember(operation, fact, memberOf(entry, name), `"${what}.${name}" in the body`)
    }),
  )
}

/** The member of that name of its own, never of a prototype; undefined for null. */
export function memberOf(members: unknown, name: string): unknown {
  const isObject = typeof members === 'object' && members !== null && Object.hasOwn(members, name)
  return isObject ? ((members as Members)[name] ?? undefined) : undefined
}

function readerOf({ route, head }: Matched, members: Members | undefined): ReadPlace {
  const { operation, parameters } = route
  const fromHead = (fact: FactName, place: FactPlace): FactValue | undefined => {
    const text =
      place.in === 'query'
        ? parameters.get(place.name)
        : headerIn(head.headers, factHeaders[place.name] ?? '')
    if (typeof text !== 'string') return undefined
    const where = describePlace(place)
    if (place.in === 'header') assertAscii(text, where)
    return readText(operation, fact, text, where)
  }
  return (fact, place) => {
    if (place.in === 'properties') return undefined
    if (place.in === 'query' || place.in === 'header') return fromHead(fact, place)
    const value = memberOf(place.in === 'body' ? members : memberOf(members, 'query'), place.name)
    return value === undefined ? undefined : readMember(operation, fact, value, describePlace(place))
  }
}

function readFacts(operation: Operation, read: ReadPlace): StatedFacts {
  let stated: Partial<Record<FactName, FactValue>> | undefined
  for (const [fact, places] of operation.facts) {
    let first: Statement | undefined
    for (const place of places) {
      const value = read(fact, place)
      if (value === undefined) continue
      if (first === undefined) first = { place, value }
      else assertSame(first, { place, value })
    }
    if (first !== undefined) (stated ??= {})[fact] = first.value
  }
  if (stated === undefined) return nothingStated
  const facts = stated as StatedFacts
  return facts.properties === undefined ? facts : withLocation(operation, facts, facts.properties)
}

/** Some catalogs take the location of an object from its properties. Every name of it must say the same. */
function withLocation(
  operation: Operation,
  facts: StatedFacts,
  properties: ReadonlyMap<string, string>,
): StatedFacts {
  const places = operation.facts.find(([name]) => name === 'location')?.[1] ?? []
  const place = places.find(({ in: part }) => part === 'properties')
  if (place === undefined) return facts
  for (const key of properties.keys()) {
    if (key !== 'location' && key.toUpperCase().toLowerCase() === 'location') {
      throw refusal(
        'conflicting_values',
        `the key ${show(key)} among the properties could be taken for "location"; write it so`,
      )
    }
  }
  const value = properties.get('location')
  if (value === undefined) return facts
  if (facts.location !== undefined)
    assertSame({ place: places[0] ?? place, value: facts.location }, { place, value })
  return { ...facts, location: value }
}

function assertSame(one: Statement, other: Statement): void {
  if (isSameFact(one.value, other.value)) return
  throw refusal(
    'conflicting_values',
    `${describePlace(one.place)} is ${showFact(one.value)} and ${describePlace(other.place)} is ` +
      `${showFact(other.value)}; they must not differ`,
  )
}

/** Bytes beyond ASCII in a header are read in two ways: as Latin-1 and as UTF-8. */
function assertAscii(text: string, where: string): void {
  if (/^[\x20-\x7e]*$/.test(text)) return
  throw refusal(
    'invalid_body',
    `${where} holds a character that is not ASCII; in JSON, write it as an escape`,
  )
}

/** The value of a header among names and values in turn. */
export function headerIn(headers: readonly string[], name: string): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === name) return headers[index + 1]
  }
  return undefined
}
