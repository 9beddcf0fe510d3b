import { invalidInput } from '../../interface/errors.ts'
import { show } from '../../interface/identifiers.ts'
import { assertSameId } from './agreement.ts'
import { assertContext } from './body-context.ts'
import type { JsonWatcher } from './json-watch.ts'
import { assertSpelling, spelled } from './spelling.ts'
import type { Matched } from '../stages.ts'

/** The members of an envelope. */
const envelope: ReadonlySet<string> = new Set(['id', 'identity', 'context'])

/**
 * Watches a bare map: its members are the data of the caller, and all of them are texts. Some catalogs take the map
 * wrapped too, as the member `metadata` of a request like any other. So what could be its envelope, for it is no
 * text, is held to the rules of one; and a text that could be its id is refused where the map is wrapped.
 */
export function watchMap(request: Matched): JsonWatcher {
  let isWrapped = false
  let textual: string | undefined
  return {
    name: (name, depth) => {
      const isWatched = depth === 1 && (envelope.has(spelled(name)) || spelled(name) === 'metadata')
      return isWatched ? 'value' : 'nothing'
    },
    value(text, name) {
      if (spelled(name) === 'metadata') isWrapped ||= text.startsWith('{')
      else if (text.startsWith('"')) textual = name
      else assertEnvelope(request, name, JSON.parse(text))
      if (isWrapped && textual !== undefined) {
        throw invalidInput(`${show(textual)} beside "metadata" in the body is text; leave it out`)
      }
    },
  }
}

function assertEnvelope(request: Matched, name: string, value: unknown): void {
  assertSpelling(name)
  if (name === 'id') assertSameId({ id: value }, 'id', request.meaning.id)
  if (name === 'context') assertContext(value)
  if (name === 'identity' && value !== null) {
    throw invalidInput('"identity" is not accepted beside "metadata"; send it as headers')
  }
}
