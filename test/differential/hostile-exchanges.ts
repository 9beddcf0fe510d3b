import { soundFraming, hostileFraming } from './framings.ts'
import { mutateBody } from './hostile-bodies.ts'
import { mutateHead } from './hostile-heads.ts'
import { mutateTarget } from './hostile-targets.ts'
import { seededRandom, type Random } from './random.ts'
import type { RequestDraft } from './request-draft.ts'
import { validRequest } from './valid-requests.ts'

/** What is sent over a connection before the answers are looked at. */
export interface HostileCall {
  /** Written one after the other. */
  readonly parts: readonly Buffer[]
  /** The methods of the requests that it should be; fewer answers come where the connection ends before. */
  readonly methods: readonly string[]
  /**
   * `answered`: as many answers as requests, or the end of the connection. `uncertain`: nobody can say whether the
   * bytes are whole requests, so the client closes its side. `broken-off`: the client leaves in the middle.
   */
  readonly ending: 'answered' | 'uncertain' | 'broken-off'
}

/** The exchange of that number: the same for the same seed and keys. */
export function hostileCall(seed: number, number: number, key: string): HostileCall {
  const random = seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b))
  const isPair = random.chance(0.06)
  const requests = Array.from({ length: isPair ? 2 : 1 }, (_, index) =>
    hostileRequest(random, key, `attack-${seed}-${number}-${index}`),
  )
  const bytes = Buffer.concat(requests.map(({ bytes }) => bytes))
  const methods = requests.map(({ method }) => method)
  if (random.chance(0.03))
    return { parts: [bytes.subarray(0, random.below(bytes.length))], methods, ending: 'broken-off' }
  return {
    parts: slices(bytes, random),
    methods,
    ending: requests.every(({ isSound }) => isSound) ? 'answered' : 'uncertain',
  }
}

function hostileRequest(random: Random, key: string, requestId: string) {
  let draft = validRequest(random, key, requestId)
  let isSound = true
  for (let count = random.pick([0, 1, 1, 1, 2, 2, 3]); count > 0; count -= 1) {
    const level = random.below(20)
    if (level < 9) draft = mutateTarget(draft, random)
    else if (level < 13) draft = mutateHead(draft, random)
    else draft = mutateBody(draft, random)
    isSound &&= level < 9 || level >= 13
  }
  const isMisframed = random.chance(0.06)
  const framing = isMisframed ? hostileFraming(draft.body, random) : soundFraming(draft.body, random)
  const bytes = Buffer.concat([headOf(draft, framing.lines), framing.bytes])
  return { bytes, method: draft.method, isSound: isSound && !isMisframed && !/[\r\n]/.test(firstLine(draft)) }
}

/** Text that is Latin-1 goes out byte by byte, so that any byte can be written; other text as UTF-8. */
function headOf(draft: RequestDraft, framing: readonly string[]): Buffer {
  const text = `${[firstLine(draft), ...draft.lines, ...framing].join('\r\n')}\r\n\r\n`
  return Buffer.from(text, /^[\x00-\xff]*$/.test(text) ? 'latin1' : 'utf8')
}

function firstLine({ method, path, query, version }: RequestDraft): string {
  return `${method} ${path}${query.length === 0 ? '' : '?'}${query.join('&')} ${version}`
}

function slices(bytes: Buffer, random: Random): readonly Buffer[] {
  if (random.chance(0.9) || bytes.length < 2) return [bytes]
  const at = 1 + random.below(bytes.length - 1)
  return [bytes.subarray(0, at), bytes.subarray(at)]
}
