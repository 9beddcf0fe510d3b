import { getMembers, isObject } from '../json/is-object.ts'
import { createStatusError, KubernetesError } from './kubernetes-error.ts'
import { parseJson } from './kubernetes-object.ts'

export interface WatchEvent {
  readonly type: (typeof eventTypes)[number]
  readonly object: Readonly<Record<string, unknown>>
}

/** Far above the size of an object: etcd stores at most 1.5 MiB by default. */
const maxEventBytes = 4 * 1024 * 1024

/** Reads one event a line. Throws KubernetesError at an ERROR event, a malformed or incomplete line, and over 4 MiB. */
export async function* readWatchEvents(body: AsyncIterable<Buffer>): AsyncGenerator<WatchEvent, void> {
  let rest: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    let begin = 0
    for (let newline = chunk.indexOf(10); newline !== -1; newline = chunk.indexOf(10, begin)) {
      yield parseWatchEvent(Buffer.concat([...rest, chunk.subarray(begin, newline)]).toString('utf8'))
      begin = newline + 1
      rest = []
      size = 0
    }
    rest.push(chunk.subarray(begin))
    size += chunk.length - begin
    if (size > maxEventBytes) {
      throw new KubernetesError(
        'TooLarge',
        `the API server sent an event of more than ${maxEventBytes} bytes`,
      )
    }
  }
  if (size > 0) throw new KubernetesError('Malformed', 'the watch ended within an event')
}

const eventTypes = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'] as const

function parseWatchEvent(line: string): WatchEvent {
  const { type, object } = getMembers(parseJson(line))
  if (!isObject(object))
    throw new KubernetesError('Malformed', 'the API server sent an event without an object')
  if (type === 'ERROR') throw createStatusError(object)
  const known = eventTypes.find((one) => one === type)
  if (known !== undefined) return { type: known, object }
  throw new KubernetesError('Malformed', 'the API server sent an event of an unknown type')
}
