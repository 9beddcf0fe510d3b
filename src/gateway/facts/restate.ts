import { refusal } from '../../interface/errors.ts'
import { dialects } from '../../interface/headers.ts'
import type { FactPlace } from '../../interface/facts.ts'
import { show } from '../../interface/identifiers.ts'
import type { Target } from '../../interface/target.ts'
import type { BodyJudge } from '../body/body-judge.ts'
import type { MemberTarget } from '../body/json-watch.ts'
import type { StatedFacts } from '../../interface/facts.ts'
import type { Operation } from '../../interface/operations.ts'
import type { Matched } from '../context.ts'
import type { FactValue } from './fact-values.ts'
import { headerIn, memberOf, type Members } from './read-facts.ts'

/*
 * Some facts have several places, of old clients or of the interface itself, and a catalog may read any of them. What
 * was judged goes out in all of them, so that no catalog finds another value, or none, where it looks.
 */

/** The query parameters of a request as the upstream gets them, and headers to add. */
export interface RestatedHead {
  readonly parameters: Target['parameters']
  readonly headers: readonly string[]
}

/** States facts of several places in all places of the head; undefined if it does already. */
export function restateHead({ route, head }: Matched, stated: StatedFacts): RestatedHead | undefined {
  if (route.operation.factsOfSeveralPlaces.length === 0) return undefined
  const parameters = new Map(route.parameters)
  const added: string[] = []
  for (const [value, place] of placesToState(route.operation, stated)) {
    if (place.in === 'query' && !parameters.has(place.name)) parameters.set(place.name, textOf(value))
    if (place.in === 'header') {
      const name = place.name === 'location' ? dialects.catalog.location : dialects.catalog.properties
      if (headerIn(head.headers, name) === undefined) added.push(name, inAscii(textOf(value)))
    }
  }
  return parameters.size === route.parameters.size && added.length === 0
    ? undefined
    : { parameters, headers: added }
}

/**
 * States facts of several places in all places of a body that was read whole and not taken yet. Throws InvalidInput
 * (400) for a member that is null and whose fact another place states.
 */
export function restateBody(operation: Operation, stated: StatedFacts, judge: BodyJudge): void {
  const { members, text } = judge
  // The members of a bare map are data; `metadata` was found if the map is wrapped.
  if (operation.body === 'map' && !Object.hasOwn(members, 'metadata')) return
  for (const [value, place] of placesToState(operation, stated)) {
    if (place.in === 'body') add(members, text.root, place, value)
    if (place.in === 'body.query') add(memberOf(members, 'query'), judge.queryObject(), place, value)
  }

  function add(
    holder: unknown,
    object: MemberTarget | undefined,
    { name }: FactPlace,
    value: FactValue,
  ): void {
    if (object === undefined || holder === undefined || memberOf(holder, name) !== undefined) return
    if (Object.hasOwn(holder as Members, name)) {
      throw refusal(
        'conflicting_values',
        `${show(name)} is null in one place and ${show(textOf(value))} in another; leave null out`,
      )
    }
    text.addMember(object, name, value)
  }
}

function* placesToState(
  { factsOfSeveralPlaces }: Operation,
  stated: StatedFacts,
): Generator<readonly [FactValue, FactPlace]> {
  for (const [fact, places] of factsOfSeveralPlaces) {
    const value = stated[fact]
    if (value !== undefined) for (const place of places) yield [value, place]
  }
}

function textOf(value: FactValue): string {
  if (typeof value === 'string') return value
  return JSON.stringify(value instanceof Map ? Object.fromEntries(value) : value)
}

/** JSON that any reader of a header takes for the same text. */
function inAscii(json: string): string {
  return json.replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
