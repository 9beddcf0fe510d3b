import { hostileFraming, unambiguousFraming } from './framings.ts'
import { mutateBody } from './hostile-bodies.ts'
import { mutateHeaders } from './hostile-headers.ts'
import { mutateTarget } from './hostile-targets.ts'
import { seededRandom, type Random } from './random.ts'
import type { RequestDraft } from './request-draft.ts'
import { createValidRequest } from './valid-requests.ts'

/** Bytes of one or two pipelined requests. */
export interface HostileInput {
  /** Written one after the other. */
  readonly chunks: readonly Buffer[]
  /** Intended methods of the requests. The gateway may close the connection before it has responded to all of them. */
  readonly methods: readonly string[]
  /**
   * `complete`: all readers agree on where the requests end. `ambiguous`: they may not, so the client half-closes the
   * connection. `truncated`: the client disconnects within a request.
   */
  readonly completeness: 'complete' | 'ambiguous' | 'truncated'
}

/** Generates an input. The same arguments give the same bytes. */
export function createHostileInput(seed: number, index: number, key: string): HostileInput {
  const random = seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b))
  const isPair = random.chance(0.06)
  const requests = Array.from({ length: isPair ? 2 : 1 }, (_, position) =>
    createHostileRequest(random, key, `attack-${seed}-${index}-${position}`),
  )
  const bytes = Buffer.concat(requests.map(({ bytes }) => bytes))
  const methods = requests.map(({ method }) => method)
  if (random.chance(0.03))
    return { chunks: [bytes.subarray(0, random.below(bytes.length))], methods, completeness: 'truncated' }
  return {
    chunks: splitRandomly(bytes, random),
    methods,
    completeness: requests.every(({ isUnambiguous }) => isUnambiguous) ? 'complete' : 'ambiguous',
  }
}

function createHostileRequest(random: Random, key: string, requestId: string) {
  let draft = createValidRequest(random, key, requestId)
  let areHeadersValid = true
  for (let count = random.pick([0, 1, 1, 1, 2, 2, 3]); count > 0; count -= 1) {
    const level = random.below(20)
    if (level < 9) draft = mutateTarget(draft, random)
    else if (level < 13) {
      draft = mutateHeaders(draft, random)
      areHeadersValid = false
    } else draft = mutateBody(draft, random)
  }
  const isMisframed = random.chance(0.06)
  const framing = isMisframed ? hostileFraming(draft.body, random) : unambiguousFraming(draft.body, random)
  const bytes = Buffer.concat([serializeHead(draft, framing.lines), framing.bytes])
  const isUnambiguous = areHeadersValid && !isMisframed && !/[\r\n]/.test(requestLine(draft))
  return { bytes, method: draft.method, isUnambiguous }
}

/** Uses Latin-1 if possible, so that drafts can contain any byte, and UTF-8 otherwise. */
function serializeHead(draft: RequestDraft, framing: readonly string[]): Buffer {
  const text = `${[requestLine(draft), ...draft.lines, ...framing].join('\r\n')}\r\n\r\n`
  return Buffer.from(text, /^[\x00-\xff]*$/.test(text) ? 'latin1' : 'utf8')
}

function requestLine({ method, path, query, version }: RequestDraft): string {
  return `${method} ${path}${query.length === 0 ? '' : '?'}${query.join('&')} ${version}`
}

/** Returns the bytes in one chunk, rarely in two. */
function splitRandomly(bytes: Buffer, random: Random): readonly Buffer[] {
  if (random.chance(0.9) || bytes.length < 2) return [bytes]
  const at = 1 + random.below(bytes.length - 1)
  return [bytes.subarray(0, at), bytes.subarray(at)]
}
